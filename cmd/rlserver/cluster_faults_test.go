package main

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestClusterPolicyEverywhere: a policy that any node acknowledged is readable
// there at once, and on the others soon.
func TestClusterPolicyEverywhere(t *testing.T) {
	nodes := threeNodes(t)
	for i, n := range nodes {
		n.set(t, "a", i+1)
		if !n.knows("a", i+1) {
			t.Errorf("%s acknowledged a policy that it does not know", n.name)
		}
		for _, other := range nodes {
			within(t, time.Second, "the policy on "+other.name, func() bool { return other.knows("a", i+1) })
		}
	}
}

// TestClusterLeaderKilled: policies are set through a follower while the leader
// is killed. All that were acknowledged are on all nodes afterwards, also on
// the one that was killed; those that failed say what came of them, in time.
func TestClusterLeaderKilled(t *testing.T) {
	nodes := threeNodes(t)
	leader, others := leaderOf(t, nodes...)
	w := writeThrough(t, others[0])
	within(t, patience, "a policy before the leader is killed", func() bool { return leader.status(t)["policies"] != "0" })
	leader.kill(t)
	leaderOf(t, others...)
	leader.start(t).expectReady(t)
	w.end(t)
	for _, n := range nodes {
		n.expectPolicies(t, w.made)
	}
}

// TestClusterAllKilled: all three are killed and come back with other
// addresses, of which only one is given to the others. The policies are there
// and can be set as soon as a majority is, and the third finds the rest.
func TestClusterAllKilled(t *testing.T) {
	nodes := threeNodes(t)
	for round, first := range nodes {
		made := map[string]int{}
		for i, n := range nodes {
			made[n.name] = 10*round + i + 1
			n.set(t, n.name, made[n.name])
		}
		for _, n := range nodes {
			n.kill(t)
		}
		first.start(t).expectUnready(t)
		second, third := nodes[(round+1)%3], nodes[(round+2)%3]
		second.start(t, "--join", first.atBus)
		took := within(t, recoveryBound, "a write on two of three", func() bool {
			reply, err := first.try("RL.POLICY.SET again LIMIT 1 WINDOW 1s")
			return err == nil && strings.HasPrefix(reply, ":")
		})
		t.Logf("two of three took %s", took)
		third.start(t, "--join", first.atBus)
		for _, n := range nodes {
			n.expectReady(t)
			n.expectPolicies(t, made)
		}
		eventually(t, "three that live", func() bool { return third.status(t)["members_alive"] == "3" })
	}
}

// TestClusterMajorityDown: with two of three down, writes fail in time with
// words, decisions go on and the node stays ready. When one of them is back,
// writes work again.
func TestClusterMajorityDown(t *testing.T) {
	nodes := threeNodes(t)
	nodes[0].ask(t, "RL.POLICY.SET login LIMIT 6 WINDOW 1h")
	nodes[0].ask(t, "RL.POLICY.SET vault LIMIT 6 WINDOW 1h CLIENT vault ONERROR closed")
	last := nodes[2]
	eventually(t, "the policies", func() bool { return last.knows("login", 6) && last.knows("vault", 6) })
	nodes[0].kill(t)
	nodes[1].kill(t)
	for _, command := range []string{"RL.POLICY.SET a LIMIT 5 WINDOW 1s", "RL.POLICY.DEL login", "RL.NODE.REMOVE n1"} {
		begun := time.Now()
		reply, err := last.try(command)
		if took := time.Since(begun); err != nil || !isDocumented(reply) || took > writeBound {
			t.Errorf("%s: after %s: %s %v", command, took, reply, err)
		}
	}
	if reply := last.ask(t, "RL.ALLOW key 1 1h"); !strings.HasPrefix(reply, "[:1 ") {
		t.Errorf("RL.ALLOW: %s", reply)
	}
	// No lease can be held: a share of the limit passes, of a strict one nothing.
	eventually(t, "the end of the lease", func() bool { return strings.HasPrefix(last.status(t)["lease"], "none") })
	for _, want := range []string{"[:1 ", "[:1 ", "[:0 "} {
		if reply := last.ask(t, "RL.CHECK bob"); !strings.HasPrefix(reply, want) {
			t.Errorf("RL.CHECK: %s, want %s", reply, want)
		}
		if reply := last.ask(t, "RL.CHECK vault"); !strings.HasPrefix(reply, "[:0 ") {
			t.Errorf("RL.CHECK of a strict policy: %s", reply)
		}
	}
	if status, body := httpGet(t, "http://"+last.atHTTP+"/readyz", "", ""); status != http.StatusOK {
		t.Errorf("/readyz: %d %s", status, body)
	}
	nodes[0].start(t)
	took := within(t, recoveryBound, "a write", func() bool {
		reply, err := last.try("RL.POLICY.SET a LIMIT 5 WINDOW 1s")
		return err == nil && strings.HasPrefix(reply, ":")
	})
	t.Logf("a write was made %s after the second node was started", took)
	nodes[0].expectReady(t)
	nodes[0].expectPolicies(t, map[string]int{"a": 5, "login": 6, "vault": 6})
}

// TestClusterLeaderHangs: the leader is stopped under load for longer than a
// disk may hang. The others elect one of themselves; when it goes on it follows,
// has all policies, and does not take the leadership back.
func TestClusterLeaderHangs(t *testing.T) {
	nodes := threeNodes(t)
	hung, others := leaderOf(t, nodes...)
	w := writeThrough(t, others[0])
	direct := writeThrough(t, hung)
	eventually(t, "some policies", func() bool { return len(others[0].status(t)["policies"]) > 1 })
	hung.signal(t, syscall.SIGSTOP)
	always(t, 6*time.Second, "the others live", func() bool { return others[0].status(t) != nil })
	leader, _ := leaderOf(t, others...)
	hung.signal(t, syscall.SIGCONT)
	eventually(t, "the old leader follows", func() bool { return hung.status(t)["leader"] == leader.name })
	always(t, 2*time.Second, "it leads no more", func() bool {
		for _, n := range nodes {
			if n.status(t)["leader"] != leader.name {
				return false
			}
		}
		return true
	})
	w.end(t)
	close(direct.stop)
	<-direct.done
	if direct.wrong != "" {
		t.Errorf("through the one that hung: %s", direct.wrong)
	}
	for _, n := range nodes {
		n.expectPolicies(t, w.made)
		for name, limit := range direct.made {
			if w.made[name] != limit && !n.knows(name, limit) {
				t.Errorf("%s lacks %s", n.name, name)
			}
		}
	}
}
