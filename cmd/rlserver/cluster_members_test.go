package main

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestClusterRemoved: a removed node ends with words, and again when it comes
// back with its old data, of which it serves nothing. RL.NODE.ADD lets the old
// data come back; an empty directory needs no permission.
func TestClusterRemoved(t *testing.T) {
	nodes := threeNodes(t)
	leader, others := leaderOf(t, nodes...)
	gone, stays := others[0], others[1]
	stays.set(t, "a", 5)
	if reply, err := stays.try("RL.NODE.REMOVE " + leader.name); err != nil || !strings.HasPrefix(reply, "-ERR this node leads") {
		t.Errorf("the removal of the leader: %s %v", reply, err)
	}
	stays.ask(t, "RL.NODE.REMOVE "+gone.name)
	gone.expectEnd(t, "was removed from its cluster")
	if list := leader.ask(t, "RL.NODE.LIST"); strings.Contains(list, "[name "+gone.name+" ") {
		t.Errorf("it is a member still: %s", list)
	}

	gone.servesNothing(t, "--join", leader.atBus)
	gone.expectEnd(t, "start it with an empty directory, or let it come back with RL.NODE.ADD "+gone.name)

	stays.ask(t, "RL.NODE.ADD "+gone.name)
	gone.start(t, "--join", leader.atBus).expectReady(t)
	gone.expectPolicies(t, map[string]int{"a": 5})

	// This time it does not run, and knows nothing of it.
	gone.kill(t)
	stays.ask(t, "RL.NODE.REMOVE "+gone.name)
	stays.set(t, "a", 6)
	gone.servesNothing(t)
	gone.expectEnd(t, "was removed from its cluster")

	if err := os.RemoveAll(gone.dir); err != nil {
		t.Fatal(err)
	}
	gone.start(t, "--join", leader.atBus).expectReady(t)
	gone.expectPolicies(t, map[string]int{"a": 6})
	eventually(t, "three voters that live", func() bool { return leader.status(t)["voters_alive"] == "3" })
}

// servesNothing starts the node on an address that is known, and asks it until
// it has ended.
func (n *clusterNode) servesNothing(t *testing.T, more ...string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	n.start(t, append(more, "--addr", addr)...) // the last one counts
	n.addr = addr
	eventually(t, n.name+" ends", func() bool {
		for _, command := range []string{"RL.POLICY.GET a", "RL.CHECK bob", "RL.ALLOW key 1 1s"} {
			if reply, err := n.try(command); err == nil && !strings.HasPrefix(reply, "-LOADING ") {
				t.Fatalf("%s answers %s: %s", n.name, command, reply)
			}
		}
		select {
		case <-n.ended:
			return true
		default:
			return false
		}
	})
}

// TestClusterRefusesStrangers: who must not join is told why, at the other side
// too where that can know, and changes nothing.
func TestClusterRefusesStrangers(t *testing.T) {
	nodes := threeNodes(t)
	first := nodes[0]
	list := func() string { // without epochs and slots: a node may register again, and slots move
		return regexp.MustCompile(` (epoch|slots) :\d+`).ReplaceAllString(first.ask(t, "RL.NODE.LIST"), "")
	}
	eventually(t, "three that live", func() bool { return strings.Count(list(), " state alive") == 3 })
	before := list()

	newClusterNode(t, "n2").start(t, "--join", first.atBus).expectEnd(t, "the name n2 belongs to node")

	// A founder of its own that was alone must not, with the same secret.
	foreign := newClusterNode(t, "m1").start(t, "--bootstrap-expect", "1")
	foreign.expectReady(t)
	foreign.kill(t)
	foreign.start(t, "--join", first.atBus).expectReady(t)
	foreign.logs(t, "the node is not part of its cluster yet", "refused by the peer (cluster)")
	first.logs(t, "bus connection refused", `"why":"cluster"`)
	foreign.kill(t)

	stranger := newClusterNode(t, "n4")
	stranger.secretFile = written(t, "secret", "another secret of 32 bytes, or more\n")
	stranger.start(t, "--join", first.atBus).expectTrouble(t, "secret")
	first.logs(t, "bus connection refused", `"why":"tls"`)
	stranger.kill(t)

	// One that says it is where another node is would never be reached.
	liar := newClusterNode(t, "n5").start(t, "--join", first.atBus, "--announce-bus-addr", nodes[1].atBus)
	liar.expectTrouble(t, "is that of node n2")
	liar.kill(t)
	taken := newClusterNode(t, "n6").start(t, "--join", first.atBus, "--bus-addr", nodes[1].atBus)
	taken.expectEnd(t, "cannot listen on "+nodes[1].atBus+" (--bus-addr)")

	if after := list(); after != before {
		t.Errorf("the members were\n%s\nand are\n%s", before, after)
	}
	first.set(t, "a", 1)
}

// expectTrouble waits until the log tells why the node is not part of its
// cluster. It serves nothing meanwhile.
func (n *clusterNode) expectTrouble(t *testing.T, why string) {
	t.Helper()
	n.expectUnready(t)
	n.logs(t, "the node is not part of its cluster yet", why)
	if reply, err := n.try("RL.CHECK bob"); err != nil || !strings.HasPrefix(reply, "-LOADING ") {
		t.Errorf("%s answers %s %v", n.name, reply, err)
	}
}

// logs waits until the log holds a line with both texts.
func (n *clusterNode) logs(t *testing.T, message, why string) {
	t.Helper()
	eventually(t, n.name+" says "+why, func() bool {
		for line := range strings.Lines(n.log.String()) {
			if strings.Contains(line, message) && strings.Contains(line, why) {
				return true
			}
		}
		return false
	})
}

// TestClusterBusStrangers: who speaks anything but the bus' protocol to its
// port gets nothing and harms nothing.
func TestClusterBusStrangers(t *testing.T) {
	nodes := threeNodes(t)
	leader, _ := leaderOf(t, nodes...)
	for name, words := range map[string]string{
		"RESP":    "*1\r\n$4\r\nPING\r\n",
		"inline":  "PING\r\n",
		"HTTP":    "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"garbage": strings.Repeat("\x16\x03\x01\xff\xff\x00\x9f", 1000),
		"nothing": "",
	} {
		var all []*client
		for _, n := range nodes {
			c := dial(t, n.atBus, nil)
			_, _ = io.WriteString(c, words) // it may be cut before the last byte
			all = append(all, c)
		}
		for _, c := range all {
			answer, _ := io.ReadAll(c) // how it ends does not matter
			// A TLS alert says that this is no TLS.
			if len(answer) > 7 || len(answer) > 0 && answer[0] != 21 {
				t.Errorf("%s gets %q", name, answer)
			}
		}
	}
	// TLS without a proof: the client's side is done before the server's.
	c, err := tryDial(leader.atBus, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}) //nolint:gosec // it is a stranger
	if err == nil {
		defer c.Close()
		if answer, err := io.ReadAll(c); len(answer) > 0 || err == nil {
			t.Errorf("a client without a key gets %q, %v", answer, err)
		}
	}
	begun := time.Now()
	leader.set(t, "a", 1)
	if took := time.Since(begun); took > time.Second {
		t.Errorf("a write took %s", took)
	}
	if after, _ := leaderOf(t, nodes...); after != leader {
		t.Errorf("%s led, now %s does", leader.name, after.name)
	}
}
