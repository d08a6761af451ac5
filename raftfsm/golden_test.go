package raftfsm

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/rlserver/rlserver/policy"
)

var rewrite = flag.Bool("rewrite", false, "write golden files that do not exist yet, or anew")

// golden lists one entry of each type and version.
func golden(t *testing.T) map[string]Command {
	t.Helper()
	seven := uint64(7)
	full := rule(t, "full", `"limit": 5, "window": "90s", "burst": 9, "algo": "leaky-bucket", "client": "c", "tier": "t", "endpoint": "GET /a/*",
		"attr": {"k": "v*", "l": "w"}, "per": "client,k", "scope": "s", "priority": -4, "on_error": "closed", "on_loss": "empty", "force": true, "mode": "shadow"`)
	small := rule(t, "small", `"limit": 1, "window": "1s"`)
	return map[string]Command{
		"found-1":          Found{nodeID(255)},
		"register-1":       Register{Member{ID: nodeID(1), Name: "n1", Addr: "h:7379", BusAddr: "h:17379", Nonce: 1 << 60, Count: 3, Level: 1, Lease: 1e9}},
		"policy-set-1":     PolicySet{full, &seven},
		"policy-delete-1":  PolicyDelete{"full", nil},
		"policy-replace-1": PolicyReplace{[]*policy.Rule{full, small}, true},
		"node-add-1":       NodeAdd{"n1"},
		"node-remove-1":    NodeRemove{nodeID(1)},
		"assign-1":         Assign{nodeID(1), []Range{{0, 9}, {16383, 16383}}},
		"take-over-1":      TakeOver{nodeID(1), 7, []string{nodeID(2)}, []Witness{{nodeID(2), 8}, {nodeID(3), 9}}, true},
		"move-1":           Move{nodeID(1), 7, nodeID(2), 8, []SlotVersion{{5, 6}, {16383, 300}}},
		"node-drain-1":     NodeDrain{nodeID(1), true, false},
		"abort-move-1":     AbortMove{nodeID(1), 7, []SlotVersion{{5, 6}}},
	}
}

// TestGolden shows that logs and snapshots of former versions are read. Files
// are only ever added.
func TestGolden(t *testing.T) {
	commands := golden(t)
	for _, k := range kinds() {
		if commands[k.name+"-1"] == nil {
			t.Errorf("type %s has no golden file", k.name)
		}
	}
	for name, command := range commands {
		path := filepath.Join("testdata", "entries", name)
		want := Encode(requestID(1), command)
		if *rewrite {
			writeGolden(t, path, want)
		}
		entry := readGolden(t, path)
		if !bytes.Equal(entry, want) {
			t.Errorf("%s is written as %x, was %x", name, want, entry)
		}
		id, got, err := Decode(entry)
		if err != nil || id != requestID(1) || !bytes.Equal(Encode(id, got), entry) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGoldenSnapshot(t *testing.T) {
	m := newMachine(t)
	commands := golden(t)
	m.must(commands["found-1"])
	m.must(commands["register-1"])
	other := commands["register-1"].(Register)
	other.ID, other.Name = nodeID(2), "n2"
	m.must(other)
	m.must(NodeRemove{nodeID(2)})
	m.index++
	m.StoreConfiguration(m.index, raft.Configuration{Servers: []raft.Server{{Suffrage: raft.Voter, ID: raft.ServerID(nodeID(1))}}})
	m.must(commands["policy-replace-1"])
	m.do(commands["policy-set-1"])
	path := filepath.Join("testdata", "snapshots", "1")
	if *rewrite {
		writeGolden(t, path, m.bytes())
	}
	was := readGolden(t, path)
	if !bytes.Equal(was, m.bytes()) {
		t.Error("the snapshot is written differently")
	}
	v := restored(t, was, m.index).View()
	if n1, _ := v.Named("n1"); n1.Epoch != 2 || v.Cluster != nodeID(255) || v.Policies.Len() != 2 || v.Policies.Get("full").Version != 6 || !v.Votes(nodeID(1)) {
		t.Errorf("%+v", v)
	}
	if name, removed := v.Removed(nodeID(2)); !removed || name != "n2" {
		t.Error(name, removed)
	}
}

// Golden files are hex, in lines.
func writeGolden(t *testing.T, path string, b []byte) {
	t.Helper()
	var lines strings.Builder
	for text := hex.EncodeToString(b); text != ""; {
		n := min(len(text), 96)
		lines.WriteString(text[:n] + "\n")
		text = text[n:]
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readGolden(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Whatever bytes an entry has, it is read or refused, and what is read is
// written as it was.
func FuzzDecode(f *testing.F) {
	f.Add(Encode(requestID(1), NodeAdd{"x"}))
	f.Add(Encode(requestID(2), PolicyDelete{"x", new(uint64)}))
	f.Add(Encode(requestID(3), Register{Member{ID: nodeID(1), Name: "a"}}))
	f.Fuzz(func(t *testing.T, entry []byte) {
		id, command, err := Decode(entry)
		if err != nil {
			return
		}
		again := Encode(id, command)
		if _, _, err := Decode(again); err != nil {
			t.Fatalf("%x was read, and written as %x: %v", entry, again, err)
		}
		_, ok := newMachine(t).entry(entry).(Result)
		if !ok {
			t.Fatal("it was read, but not applied")
		}
	})
}

// Whatever bytes a snapshot has, it is read or refused.
func FuzzSnapshot(f *testing.F) {
	m := newMachine(f)
	m.must(NodeAdd{"x"})
	f.Add(m.bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := readSnapshot(bytes.NewReader(b))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := s.write(&out); err != nil {
			t.Fatal(err)
		}
		if _, err := readSnapshot(&out); err != nil {
			t.Fatal(err)
		}
	})
}
