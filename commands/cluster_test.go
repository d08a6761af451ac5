package commands_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rlserver/rlserver/commands"
	"github.com/rlserver/rlserver/policy"
	"github.com/rlserver/rlserver/state"
)

// pairCluster is what both of two halves say of who owns what, in few words:
// one slot is the first node's, the last one nobody's, and all between the
// second node's.
type pairCluster struct {
	*fakeCluster

	nobody bool // owns anything
	silent bool // the second node is
}

func (p *pairCluster) Nodes() []commands.NodeInfo {
	other := "alive"
	if p.silent {
		other = "unreachable"
	}
	return []commands.NodeInfo{
		{Name: "node-0", ID: strings.Repeat("0a", 20), Addr: "192.0.2.1:7379", BusAddr: "192.0.2.1:17379", Role: "leader", State: "alive", Epoch: 3},
		{Name: "node-1", ID: strings.Repeat("1b", 20), Addr: "[2001:db8::1]:7380", BusAddr: "[2001:db8::1]:17380", Role: "voter", State: other, Epoch: 5},
		{ID: strings.Repeat("2c", 20), Role: "voter", State: "unreachable"}, // it never was here
	}
}

func (p *pairCluster) Slots() []commands.SlotRange {
	if p.nobody {
		return []commands.SlotRange{{First: 0, Last: 16383}}
	}
	return []commands.SlotRange{
		{First: 0, Last: 0, Owner: "node-0", Version: 1},
		{First: 1, Last: 100, Owner: "node-1", Version: 2},
		{First: 101, Last: 16382, Owner: "node-1", Version: 3},
		{First: 16383, Last: 16383},
	}
}

// namedServer is a process of that name.
type namedServer struct {
	*fakeServer

	name string
}

func (s namedServer) Describe() commands.ServerInfo {
	info := s.fakeServer.Describe()
	info.Node = s.name
	return info
}

// newPair is two halves that know each other, and send clients where keys are
// if redirect says so.
func newPair(t *testing.T, redirect func(slot uint16) string) (*halves, *pairCluster) {
	t.Helper()
	p := &pairCluster{fakeCluster: newFakeCluster()}
	return newHalves(t, policy.OnErrorLocal, func(i int, cfg *commands.Config) {
		cfg.Cluster = p
		cfg.Server = namedServer{&fakeServer{}, fmt.Sprintf("node-%d", i)}
		cfg.Sharing.Redirect = redirect
	}), p
}

const (
	id0 = "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"
	id1 = "1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b"
)

// TestClusterInRedisForms: each node says the same, in the forms that clients
// read.
func TestClusterInRedisForms(t *testing.T) {
	h, _ := newPair(t, nil)
	slots := `[[0 0 ["192.0.2.1" 7379 "` + id0 + `" []]] [1 16382 ["2001:db8::1" 7380 "` + id1 + `" []]]]`
	shards := `[["slots" [0 0] "nodes" [["id" "` + id0 + `" "port" 7379 "ip" "192.0.2.1" "endpoint" "192.0.2.1" "role" "master" "replication-offset" 0 "health" "online"]]] ` +
		`["slots" [1 16382] "nodes" [["id" "` + id1 + `" "port" 7380 "ip" "2001:db8::1" "endpoint" "2001:db8::1" "role" "master" "replication-offset" 0 "health" "online"]]]]`
	for node := range 2 {
		for line, want := range map[string]string{
			"CLUSTER SLOTS":                        slots,
			"CLUSTER SHARDS":                       shards,
			"CLUSTER KEYSLOT {a}b":                 "15495",
			"CLUSTER KEYSLOT {}x":                  fmt.Sprint(state.Slot([]byte("{}x"))),
			"CLUSTER COUNTKEYSINSLOT 1":            "0",
			"CLUSTER COUNTKEYSINSLOT 16384":        "(error) ERR Invalid slot",
			"CLUSTER COUNTKEYSINSLOT x":            "(error) ERR value is not an integer or out of range",
			"CLUSTER GETKEYSINSLOT 1 10":           "[]",
			"CLUSTER GETKEYSINSLOT 1 -1":           "(error) ERR Invalid slot or number of keys",
			"CLUSTER GETKEYSINSLOT -1 1":           "(error) ERR Invalid slot or number of keys",
			"CLUSTER LINKS":                        "[]",
			"CLUSTER REPLICAS " + id1:              "[]",
			"CLUSTER SLAVES " + id0:                "[]",
			"CLUSTER SLAVES x":                     "(error) ERR Unknown node x",
			"CLUSTER COUNT-FAILURE-REPORTS " + id1: "0",
			"CLUSTER COUNT-FAILURE-REPORTS y":      "(error) ERR Unknown node y",
			"CLUSTER HELP":                         `[CLUSTER <subcommand> [<arg> [value] [opt] ...]. Subcommands are: `,
			"READONLY":                             "OK",
			"READWRITE":                            "OK",
			"ASKING":                               "OK",
			"INFO cluster":                         `"# Cluster\r\ncluster_enabled:1\r\n"`,
			"SELECT 1":                             "(error) ERR DB index is out of range",
		} {
			h.expect(node, line, want)
		}
	}
	for node, id := range []string{id0, id1} {
		h.expect(node, "CLUSTER MYID", `"`+id+`"`)
		h.expect(node, "CLUSTER MYSHARDID", `"`+id+`"`)
		flags := [2]string{"master", "master"}
		flags[node] = "myself,master"
		h.expect(node, "CLUSTER NODES", `"`+id0+` 192.0.2.1:7379@17379 `+flags[0]+` - 0 0 3 connected 0\n`+
			id1+` 2001:db8::1:7380@17380 `+flags[1]+` - 0 0 5 connected 1-16382\n"`)
		h.expect(node, "CLUSTER INFO", fmt.Sprintf(`"cluster_state:fail\r\ncluster_slots_assigned:16383\r\ncluster_slots_ok:16383\r\ncluster_slots_pfail:0\r\ncluster_slots_fail:0\r\n`+
			`cluster_known_nodes:2\r\ncluster_size:2\r\ncluster_current_epoch:5\r\ncluster_my_epoch:%d\r\n`, 3+2*node))
	}
}

// TestClusterInRESP3: maps are maps, and texts are texts.
func TestClusterInRESP3(t *testing.T) {
	h, _ := newPair(t, nil)
	h.expect(0, "HELLO 3", `%["server" "redis" "version" "7.4.0" "proto" 3 "id" 1 "mode" "cluster" "role" "master" `)
	h.expect(0, "CLUSTER SLOTS", `[[0 0 ["192.0.2.1" 7379 "`+id0+`" %[]]] `)
	h.expect(0, "CLUSTER SHARDS", `[%["slots" [0 0] "nodes" [%["id" "`+id0+`" "port" 7379 `)
	h.expect(0, "CLUSTER NODES", `="txt:`+id0+` 192.0.2.1:7379@17379 myself,master `)
	h.expect(0, "CLUSTER INFO", `="txt:cluster_state:fail\r\n`)
}

// TestClusterThatIsNotWhole: a node that does not answer, and slots of nobody.
func TestClusterThatIsNotWhole(t *testing.T) {
	h, p := newPair(t, nil)
	p.silent = true
	h.expect(0, "CLUSTER NODES", `"`+id0+` 192.0.2.1:7379@17379 myself,master - 0 0 3 connected 0\n`+id1+` 2001:db8::1:7380@17380 master,fail? - 0 0 5 disconnected 1-16382\n"`)
	h.expect(0, "CLUSTER INFO", `"cluster_state:fail\r\ncluster_slots_assigned:16383\r\ncluster_slots_ok:1\r\ncluster_slots_pfail:16382\r\n`)
	p.nobody = true
	h.expect(1, "CLUSTER SLOTS", `[[0 16383 ["192.0.2.1" 7379 "`+id0+`" []]]]`)
	h.expect(1, "CLUSTER NODES", `"`+id0+` 192.0.2.1:7379@17379 master - 0 0 3 connected\n`)
	h.expect(1, "CLUSTER INFO", `"cluster_state:fail\r\ncluster_slots_assigned:0\r\n`)
}

// TestKeysOfSlot: keys are shown to who may see them.
func TestKeysOfSlot(t *testing.T) {
	h, _ := newPair(t, nil)
	mine, yours := "mine:{"+keyOf(0, "k")+"}", "yours:{"+keyOf(0, "k")+"}"
	slot := fmt.Sprint(state.Slot([]byte(mine)))
	h.expect(0, "RL.ALLOW "+mine+" 5 1h", "[1 ")
	h.expect(0, "RL.ALLOW "+yours+" 5 1h", "[1 ")
	h.expect(0, "CLUSTER COUNTKEYSINSLOT "+slot, "2")
	h.expect(0, "CLUSTER GETKEYSINSLOT "+slot+" 1", `["`)
	w := h.worlds[0]
	w.steer(t, []string{"acl", "user", "default", "on", "nopass", "+@read", "~mine:*"})
	h.expect(0, "CLUSTER GETKEYSINSLOT "+slot+" 10", `["`+mine+`"]`)
	w.steer(t, []string{"acl", "user", "default", "on", "nopass", "+@decide", "~*"})
	h.expect(0, "CLUSTER GETKEYSINSLOT "+slot+" 10", `(error) NOPERM`)
	h.expect(0, "CLUSTER SLOTS", `[[0 0 `)
}

// TestRedirect: who asks for a key of another node is sent there, and nobody
// else is.
func TestRedirect(t *testing.T) {
	there := "[2001:db8::1]:7380"
	h, _ := newPair(t, func(uint16) string { return there })
	even, odd := keyOf(0, "k"), keyOf(1, "k")
	moved := fmt.Sprintf("(error) MOVED %d 2001:db8::1:7380\n", state.Slot([]byte(odd)))
	h.worlds[0].mustSet(t, "RL.POLICY.SET all LIMIT 5 WINDOW 1h")
	for _, line := range []string{
		"RL.ALLOW " + odd + " 5 1h", "CL.THROTTLE " + odd + " 4 5 60", "RL.REFUND " + odd + " 1", "RL.RESET " + odd, "RL.INSPECT " + odd,
		"TTL " + odd, "GET " + odd, "EXISTS " + odd, "DEL " + odd + " {" + odd + "}x",
	} {
		h.expect(0, line, moved)
	}
	if h.asked > 0 {
		t.Errorf("%d questions were asked of the other node", h.asked)
	}
	h.expect(0, "RL.ALLOW "+even+" 5 1h", "[1 ")
	h.expect(1, "RL.ALLOW "+odd+" 5 1h", "[1 ")
	h.expect(0, "EXISTS "+even+" "+odd, "2") // no node has both
	// The bucket of a policy is in a slot that clients cannot know.
	for i := range 8 {
		client := fmt.Sprintf("client-%d", i)
		h.expect(i%2, "RL.CHECK "+client, "[1 5 4 ")
		h.expect(i/2%2, "RL.INSPECT "+client+" POLICY all", `["policy" "all" `)
		h.expect(i/4%2, "RL.REFUND "+client+" 1 POLICY all", "[1 5]")
	}
	there = "" // the owner is gone: it is asked for them, or the fallback is
	h.expect(0, "RL.ALLOW "+odd+" 5 1h", "[1 5 3 ")
}

// TestRedirectInTransaction: a transaction that would need another node is not
// run.
func TestRedirectInTransaction(t *testing.T) {
	h, _ := newPair(t, func(uint16) string { return "192.0.2.9:7380" })
	even, odd := keyOf(0, "k"), keyOf(1, "k")
	moved := fmt.Sprintf("(error) MOVED %d 192.0.2.9:7380\n", state.Slot([]byte(odd)))
	h.expect(0, "MULTI\r\nRL.ALLOW "+even+" 5 1h\r\nRL.ALLOW "+odd+" 5 1h\r\nEXEC",
		"OK\nQUEUED\n"+moved+"(error) EXECABORT Transaction discarded because of previous errors.\n")
	h.expect(0, "EXISTS "+even, "0")
	h.expect(0, "MULTI\r\nRL.ALLOW "+even+" 5 1h\r\nRL.CHECK "+odd+"\r\nEXEC", "OK\nQUEUED\nQUEUED\n[[1 5 4 ")
}
