package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// writeBound is how long a write may take to be answered, whatever fails:
	// popular clients give up after it.
	writeBound = 3 * time.Second
	// recoveryBound is how long a cluster that has its majority back may take
	// to accept writes.
	recoveryBound = 5 * time.Second
)

const testSecret = "0123456789abcdef0123456789abcdef"

// clusterNode is a node of a test, whose process can be ended and started
// again. Each process gets ports of its own.
type clusterNode struct {
	*serverProcess // of now, or the last one

	name, dir  string
	secretFile string // empty: it is alone
}

// newClusterNode makes a node that does not run yet.
func newClusterNode(t *testing.T, name string) *clusterNode {
	t.Helper()
	return &clusterNode{name: name, dir: filepath.Join(t.TempDir(), "data"), secretFile: written(t, "secret", testSecret+"\n")}
}

// threeNodes starts a cluster of three, of which the first founded it.
func threeNodes(t *testing.T) []*clusterNode {
	t.Helper()
	return joinedBy(t, newClusterNode(t, "n1"), "n2", "n3")
}

// joinedBy lets a node found a cluster, and two others join it.
func joinedBy(t *testing.T, first *clusterNode, names ...string) []*clusterNode {
	t.Helper()
	first.start(t, "--bootstrap-expect", "1").expectReady(t)
	all := []*clusterNode{first}
	for _, name := range names {
		all = append(all, newClusterNode(t, name).start(t, "--join", first.atBus))
	}
	for _, n := range all[1:] {
		n.expectReady(t)
	}
	eventually(t, "three voters that live", func() bool { return first.status(t)["voters_alive"] == "3" })
	return all
}

// start starts a process of the node, which may never become ready.
func (n *clusterNode) start(t *testing.T, more ...string) *clusterNode {
	t.Helper()
	if n.secretFile != "" {
		more = append([]string{"--cluster-secret-file", n.secretFile, "--bus-addr", "127.0.0.1:0"}, more...)
	}
	cmd := serverCommand(t, append([]string{
		"--dir", n.dir, "--node-name", n.name, "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0",
		"--log-format", "json", "--log-level", "info", "--drain-timeout", "5s",
	}, more...)...)
	s := &serverProcess{log: newServerLog()}
	cmd.Stderr = s.log
	s.process = start(t, cmd)
	n.serverProcess = s
	t.Cleanup(func() { s.stopWell(t, n.name) })
	return n
}

// stopWell stops a process that the test did not end. One that hangs goes on.
func (s *serverProcess) stopWell(t *testing.T, name string) {
	t.Helper()
	select {
	case <-s.ended:
	default:
		s.signal(t, syscall.SIGCONT)
		s.signal(t, syscall.SIGTERM)
		if err := s.wait(t); err != nil {
			t.Errorf("%s did not stop well: %v", name, err)
		}
	}
	if t.Failed() || strings.Contains(s.log.String(), "DATA RACE") {
		t.Errorf("the log of %s:\n%s", name, s.log)
	}
}

// expectUnready waits until the node says that it waits for others.
func (n *clusterNode) expectUnready(t *testing.T) {
	t.Helper()
	line := n.expectLog(t, "not ready yet")
	n.addr, n.atBus = field(line, "addr"), field(line, "bus-addr")
}

// expectReady waits until the node is part of its cluster.
func (n *clusterNode) expectReady(t *testing.T) {
	t.Helper()
	line := n.expectLog(t, "ready")
	n.addr, n.atBus, n.atHTTP = field(line, "addr"), field(line, "bus-addr"), field(line, "admin-addr")
}

// kill ends the process as a power cut would.
func (n *clusterNode) kill(t *testing.T) {
	t.Helper()
	n.signal(t, syscall.SIGKILL)
	_ = n.wait(t) // it was killed
}

// expectEnd waits until the process has ended by itself, with exit code 1 and
// words that say why.
func (n *clusterNode) expectEnd(t *testing.T, why string) {
	t.Helper()
	_ = n.wait(t) // the code is looked at
	if code := n.cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(n.log.String(), why) {
		t.Errorf("%s ended with code %d, want 1 and %q\n%s", n.name, code, why, n.log)
	}
}

// try asks the node over a connection of its own.
func (n *clusterNode) try(command string) (string, error) {
	c, err := tryDial(n.addr, nil)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(2 * writeBound)); err != nil { // a process may hang
		return "", err
	}
	return c.try(command)
}

// ask asks the node, which must answer with no error.
func (n *clusterNode) ask(t *testing.T, command string) string {
	t.Helper()
	reply, err := n.try(command)
	if err != nil || strings.HasPrefix(reply, "-") {
		t.Fatalf("%s: %s: %s %v", n.name, command, reply, err)
	}
	return reply
}

// status is what RL.CLUSTER.STATUS tells; nothing where it does not answer.
func (n *clusterNode) status(t *testing.T) map[string]string {
	t.Helper()
	c, err := tryDial(n.addr, nil)
	if err != nil {
		return nil
	}
	defer c.Close()
	fields := map[string]string{}
	for _, name := range []string{"state", "leader", "members", "members_alive", "voters", "voters_alive", "policies", "cluster"} {
		fields[name] = ""
	}
	if _, err := fmt.Fprint(c, encode("RL.CLUSTER.STATUS")); err != nil {
		return nil
	}
	// Names and texts, each a bulk string, behind the length of the array.
	head, err := c.r.ReadString('\n')
	if err != nil {
		return nil
	}
	var words int
	if _, err := fmt.Sscanf(head, "*%d", &words); err != nil {
		return nil
	}
	for range words / 2 {
		name, err := c.reply()
		if err != nil {
			return nil
		}
		if fields[name], err = c.reply(); err != nil {
			return nil
		}
	}
	return fields
}

// set sets a policy whose limit is that, which must succeed.
func (n *clusterNode) set(t *testing.T, name string, limit int) {
	t.Helper()
	n.ask(t, fmt.Sprintf("RL.POLICY.SET %s LIMIT %d WINDOW 1s", name, limit))
}

// knows says whether the node shows the policy with this limit.
func (n *clusterNode) knows(name string, limit int) bool {
	reply, err := n.try("RL.POLICY.GET " + name)
	return err == nil && strings.HasPrefix(reply, fmt.Sprintf("[name %s limit %d ", name, limit))
}

// expectPolicies waits until the node shows these limits and no other policy.
func (n *clusterNode) expectPolicies(t *testing.T, limits map[string]int) {
	t.Helper()
	var missing []string
	deadline, tick := time.After(patience), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for {
		missing = missing[:0]
		for name, limit := range limits {
			if !n.knows(name, limit) {
				missing = append(missing, name)
			}
		}
		if len(missing) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			reply, err := n.try("RL.POLICY.GET " + missing[0])
			t.Fatalf("%s lacks %d of %d policies, or has others under their names: of %s it says %s %v", n.name, len(missing), len(limits), missing[0], reply, err)
		}
	}
}

// leaderOf waits until all of these nodes agree on which of them leads.
func leaderOf(t *testing.T, nodes ...*clusterNode) (leader *clusterNode, others []*clusterNode) {
	t.Helper()
	eventually(t, "a leader that all know", func() bool {
		leader, others = nil, nil
		name := nodes[0].status(t)["leader"]
		for _, n := range nodes {
			if n.status(t)["leader"] != name {
				return false
			}
			if n.name == name {
				leader = n
			} else {
				others = append(others, n)
			}
		}
		return leader != nil
	})
	return leader, others
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	within(t, patience, what, is)
}

// within waits for a condition that must come true in time, and tells how long
// it took.
func within(t *testing.T, bound time.Duration, what string, is func() bool) time.Duration {
	t.Helper()
	begun := time.Now()
	deadline, tick := time.After(bound), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within %s: %s", bound, what)
		}
	}
	return time.Since(begun)
}

// always checks that a condition holds for a while.
func always(t *testing.T, long time.Duration, what string, is func() bool) {
	t.Helper()
	over, tick := time.After(long), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for {
		if !is() {
			t.Fatalf("not always: %s", what)
		}
		select {
		case <-tick.C:
		case <-over:
			return
		}
	}
}

// writes is what a client that sets policies one after the other saw.
type writes struct {
	node    *clusterNode
	stop    chan struct{}
	done    chan struct{} // closed when the rest may be read
	made    map[string]int
	failed  int
	slowest time.Duration
	wrong   string // an answer that is neither success nor a documented error
	next    int
}

// writeThrough sets policies through a node until it is told to end.
func writeThrough(t *testing.T, n *clusterNode) *writes {
	t.Helper()
	w := &writes{node: n, stop: make(chan struct{}), done: make(chan struct{}), made: map[string]int{}}
	c := dial(t, n.addr, nil)
	if err := c.SetDeadline(time.Now().Add(2 * patience)); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(w.done)
		for {
			select {
			case <-w.stop:
				return
			default:
				w.one(c)
			}
			if w.wrong != "" {
				return
			}
		}
	}()
	return w
}

func (w *writes) one(c *client) {
	w.next++
	name := fmt.Sprintf("w%d", w.next)
	begun := time.Now()
	reply, err := c.try(fmt.Sprintf("RL.POLICY.SET %s LIMIT %d WINDOW 1s CLIENT %s", name, w.next, name))
	w.slowest = max(w.slowest, time.Since(begun))
	switch {
	case err != nil:
		w.wrong = err.Error()
	case strings.HasPrefix(reply, ":"):
		w.made[name] = w.next
	case isDocumented(reply):
		w.failed++
	default:
		w.wrong = reply
	}
}

// isDocumented says whether the error of a write tells what came of it: that
// nothing was changed, with the code by which clients know to try again, or
// that nobody knows.
func isDocumented(reply string) bool {
	return strings.HasPrefix(reply, "-TRYAGAIN ") && strings.Contains(reply, "nothing was changed") ||
		strings.HasPrefix(reply, "-ERR ") && strings.Contains(reply, "outcome unknown")
}

// end ends the client, and checks its answers.
func (w *writes) end(t *testing.T) {
	t.Helper()
	close(w.stop)
	<-w.done
	t.Logf("%d writes were made through %s, %d failed, the slowest took %s", len(w.made), w.node.name, w.failed, w.slowest)
	if w.wrong != "" {
		t.Fatalf("through %s: %s", w.node.name, w.wrong)
	}
	if w.slowest > writeBound {
		t.Errorf("a write took %s", w.slowest)
	}
	if len(w.made) == 0 {
		t.Error("no write was made")
	}
}
