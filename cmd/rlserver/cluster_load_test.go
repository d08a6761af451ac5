package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestClusterManyPolicies: 10,000 policies at once reach all nodes, and one
// with the longest fields does; what is too long is refused with words. No
// leader loses its office over it.
func TestClusterManyPolicies(t *testing.T) {
	const many = 10_000
	nodes := threeNodes(t)
	leader, others := leaderOf(t, nodes...)
	var set strings.Builder
	set.WriteString("policies:\n")
	for i := range many {
		fmt.Fprintf(&set, "  - {name: p%05d, limit: %d, window: 1m, client: c%05d}\n", i, i+1, i)
	}
	begun := time.Now()
	through := others[0]
	got := execute(t, serverCommand(t, "policies", "apply", "--url", "http://"+through.atHTTP, written(t, "limits.yaml", set.String())))
	if got.exit != 0 || !strings.HasSuffix(got.stdout, fmt.Sprintf("\n%d added, 0 changed, 0 deleted\n", many)) {
		t.Fatalf("exit %d: %s", got.exit, got.stderr)
	}
	t.Logf("%d policies in %d bytes took %s", many, set.Len(), time.Since(begun))
	for _, n := range nodes {
		eventually(t, "all policies on "+n.name, func() bool { return n.status(t)["policies"] == fmt.Sprint(many) })
		if !n.knows("p09999", many) {
			t.Errorf("%s lacks the last", n.name)
		}
	}

	long := strings.Repeat("x", 512)
	var attrs strings.Builder
	for i := range 16 {
		fmt.Fprintf(&attrs, " ATTR %s%02d %s", long[:62], i, long)
	}
	longest := fmt.Sprintf("RL.POLICY.SET %s LIMIT 1 WINDOW 1s CLIENT %s TIER %s ENDPOINT /%s SCOPE %s%s", long[:128], long, long, long[1:], long[:64], &attrs)
	through.ask(t, longest)
	for _, n := range nodes {
		eventually(t, "the longest policy on "+n.name, func() bool {
			reply, err := n.try("RL.POLICY.GET " + long[:128])
			return err == nil && strings.Contains(reply, "client "+long)
		})
	}
	for _, size := range []int{513, 60_000, 1 << 20} {
		reply, err := through.try("RL.POLICY.SET huge LIMIT 1 WINDOW 1s ENDPOINT /" + strings.Repeat("x", size))
		if errors.Is(err, syscall.ECONNRESET) && size == 1<<20 {
			continue // it was refused before all of it was sent
		}
		if err != nil || !strings.HasPrefix(reply, "-ERR ") || len(reply) > 500 {
			t.Errorf("an endpoint of %d bytes: %.200s %v", size, reply, err)
		}
	}
	if after, _ := leaderOf(t, nodes...); after != leader {
		t.Errorf("%s led, now %s does", leader.name, after.name)
	}
	for _, n := range nodes {
		if strings.Contains(n.log.String(), "starting election") {
			t.Errorf("%s began an election", n.name)
		}
	}
}

// TestAloneRestarts: a node that is alone is killed and stopped in turn, and
// has its policies each time.
func TestAloneRestarts(t *testing.T) {
	n := newClusterNode(t, "n1")
	n.secretFile = ""
	n.start(t).expectReady(t)
	limits := map[string]int{}
	var sum, slowest time.Duration
	const rounds = 20
	for round := range rounds {
		name := fmt.Sprintf("p%d", round)
		limits[name] = round + 1
		n.set(t, name, round+1)
		if round%2 == 0 {
			n.kill(t)
		} else {
			n.signal(t, syscall.SIGTERM)
			if err := n.wait(t); err != nil {
				t.Error(err)
			}
		}
		begun := time.Now()
		n.start(t).expectReady(t)
		took := time.Since(begun)
		if sum, slowest = sum+took, max(slowest, took); took > 10*time.Second {
			t.Errorf("it took %s to be ready", took)
		}
		n.expectPolicies(t, limits)
	}
	t.Logf("ready after %s in the mean, %s at most", sum/rounds, slowest)
}
