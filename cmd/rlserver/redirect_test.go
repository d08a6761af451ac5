package main

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// redirectingNodes starts three nodes that share the slots, and send clients to
// the owners of keys.
func redirectingNodes(t *testing.T) []*clusterNode {
	t.Helper()
	first := newClusterNode(t, "n1").start(t, "--bootstrap-expect", "1", "--redirect")
	first.expectReady(t)
	all := []*clusterNode{first}
	for _, name := range []string{"n2", "n3"} {
		all = append(all, newClusterNode(t, name).start(t, "--join", first.atBus, "--redirect"))
	}
	for _, n := range all[1:] {
		n.expectReady(t)
	}
	balanced(t, all)
	return all
}

// TestRedirect: one of three nodes counts a key, the others name it, and a
// client that goes there is served. All name the same owners.
func TestRedirect(t *testing.T) {
	all := redirectingNodes(t)
	byAddr := map[string]*clusterNode{}
	for _, n := range all {
		byAddr[n.addr] = n
	}
	eventually(t, "one map of the slots on all nodes", func() bool {
		slots := all[0].ask(t, "CLUSTER SLOTS")
		return slots == all[1].ask(t, "CLUSTER SLOTS") && slots == all[2].ask(t, "CLUSTER SLOTS") &&
			strings.HasPrefix(all[2].ask(t, "CLUSTER INFO"), "cluster_state:ok\r\ncluster_slots_assigned:16384\r\ncluster_slots_ok:16384\r\n")
	})
	for _, n := range all {
		id := n.ask(t, "CLUSTER MYID")
		var mine int
		for line := range strings.Lines(n.ask(t, "CLUSTER NODES")) {
			if strings.HasPrefix(line, id+" "+n.addr+"@") && strings.Contains(line, " myself,master - 0 0 ") {
				mine++
			}
		}
		if mine != 1 {
			t.Errorf("%s: %d lines of CLUSTER NODES are its own", n.name, mine)
		}
		if got := n.ask(t, "CONFIG GET cluster-enabled"); got != "[cluster-enabled yes]" {
			t.Error(got)
		}
	}
	served := map[*clusterNode]int{}
	for i := range 30 {
		key := fmt.Sprintf("user:%d", i)
		owner := ownerOf(t, all, byAddr, key)
		served[owner]++
		for range 2 {
			owner.ask(t, "RL.ALLOW "+key+" 2 1h")
		}
		if got := owner.ask(t, "RL.ALLOW "+key+" 2 1h"); !strings.HasPrefix(got, "[:0 :2 :0 ") {
			t.Errorf("%s, after two: %s", key, got)
		}
		for _, n := range all {
			if n == owner {
				continue
			}
			want := fmt.Sprintf("-MOVED %s %s", strings.TrimPrefix(n.ask(t, "CLUSTER KEYSLOT "+key), ":"), owner.addr)
			if got, err := n.try("RL.ALLOW " + key + " 2 1h"); got != want || err != nil {
				t.Errorf("%s: %s: %s %v, want %s", n.name, key, got, err, want)
			}
		}
	}
	if len(served) != len(all) {
		t.Errorf("%d nodes count 30 keys", len(served))
	}
	// What clients cannot find is answered by each.
	all[0].set(t, "everybody", 100)
	for _, n := range all {
		eventually(t, "the policy", func() bool { return n.knows("everybody", 100) })
		for i := range 5 {
			if got := n.ask(t, fmt.Sprintf("RL.CHECK client-%d", i)); !strings.HasPrefix(got, "[:1 :100 ") {
				t.Errorf("%s: %s", n.name, got)
			}
		}
	}
	// Nobody is sent to a node that is off: the fallback answers.
	key := "somebody"
	owner := ownerOf(t, all, byAddr, key)
	owner.kill(t)
	for _, n := range all {
		if n == owner {
			continue
		}
		eventually(t, "an answer without the owner", func() bool {
			got, err := n.try("RL.ALLOW " + key + " 1000 1s")
			if err != nil || !strings.HasPrefix(got, "[:1 ") && got[0] != '-' {
				t.Errorf("%s: %s %v", n.name, got, err)
			}
			return got[0] != '-' || strings.HasPrefix(got, "-MOVED ") && !strings.HasSuffix(got, " "+owner.addr)
		})
	}
}

// ownerOf is the node that says the key is not elsewhere.
func ownerOf(t *testing.T, all []*clusterNode, byAddr map[string]*clusterNode, key string) *clusterNode {
	t.Helper()
	got, err := all[0].try("TTL " + key)
	if err != nil {
		t.Fatal(err)
	}
	if got == ":-2" {
		return all[0]
	}
	words := strings.Fields(got)
	owner := byAddr[words[len(words)-1]]
	if len(words) != 3 || words[0] != "-MOVED" || owner == nil {
		t.Fatalf("TTL %s: %s", key, got)
	}
	return owner
}

// TestRedirectNeedsOthers: a node that is alone refuses to start with it.
func TestRedirectNeedsOthers(t *testing.T) {
	_, err := parseConfig([]string{"--redirect"}, func(string) string { return "" }, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "--redirect needs --cluster-secret-file") {
		t.Error(err)
	}
}
