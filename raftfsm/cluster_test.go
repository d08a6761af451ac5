package raftfsm

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlserver/rlserver/policy"
)

// network connects the nodes of a test over loopback. It can cut a node off.
type network struct {
	t     *testing.T
	mu    sync.Mutex
	nodes map[string]*Node // by id, those that run
	conns map[net.Conn][2]string
	cut   map[string]bool // by id
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	return &network{t: t, nodes: map[string]*Node{}, conns: map[net.Conn][2]string{}, cut: map[string]bool{}}
}

// testStream is one node's listener.
type testStream struct {
	net.Listener
	net *network
	id  string
}

func (s *testStream) DialTimeout(target string, timeout time.Duration) (net.Conn, error) {
	id, addr, _ := strings.Cut(target, "@")
	s.net.mu.Lock()
	refused := s.net.cut[s.id] || s.net.cut[id]
	s.net.mu.Unlock()
	if refused {
		return nil, errors.New("cut off")
	}
	conn, err := net.DialTimeout("tcp", addr, timeout)
	if err != nil {
		return nil, err
	}
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	s.net.conns[conn] = [2]string{s.id, id}
	return conn, nil
}

// setCut cuts a node off, or connects it again.
func (w *network) setCut(id string, cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut[id] = cut
	for conn, ends := range w.conns {
		if cut && (ends[0] == id || ends[1] == id) {
			_ = conn.Close()
			delete(w.conns, conn)
		}
	}
}

// forward is the Forward of the node that id names at the time of the call.
func (w *network) forward(id func() string) func(context.Context, Member, []byte) ([]byte, error) {
	return func(ctx context.Context, leader Member, request []byte) ([]byte, error) {
		w.mu.Lock()
		n := w.nodes[leader.ID]
		refused := n == nil || w.cut[id()] || w.cut[leader.ID]
		w.mu.Unlock()
		if refused {
			return nil, fmt.Errorf("cut off: %w", policy.ErrNotWritten)
		}
		return n.Serve(ctx, request), nil
	}
}

// testNode is a node that can be stopped and started.
type testNode struct {
	*Node
	w     *network
	dir   string
	name  string
	addr  string
	fatal chan error
}

// start opens the node in its directory, at a new address.
func (w *network) start(dir, name string) *testNode {
	w.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	tn := &testNode{w: w, dir: dir, name: name, addr: ln.Addr().String(), fatal: make(chan error, 1)}
	cfg := testConfig(dir, name, tn.fatal)
	cfg.BusAddr = tn.addr
	id := ""
	cfg.Stream = func(own string) (Stream, error) {
		id = own
		return &testStream{ln, w, own}, nil
	}
	cfg.Forward = w.forward(func() string { return id })
	if tn.Node, err = Open(cfg); err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	w.nodes[tn.ID()] = tn.Node
	w.mu.Unlock()
	w.t.Cleanup(tn.kill)
	return tn
}

func testConfig(dir, name string, fatal chan error) Config {
	return Config{
		Dir: dir, Name: name, Addr: name + ":7379", Voters: 3, Multiplier: 1,
		Now: time.Now, Rand: rand.Reader, Log: slog.New(slog.DiscardHandler),
		Fatal: func(err error) { fatal <- err },
	}
}

// kill stops the node without a word to the others.
func (tn *testNode) kill() {
	tn.w.mu.Lock()
	running := tn.w.nodes[tn.ID()] == tn.Node
	if running {
		delete(tn.w.nodes, tn.ID())
	}
	tn.w.mu.Unlock()
	if running {
		if err := tn.Close(); err != nil {
			tn.w.t.Error(err)
		}
	}
}

// found starts nodes n1, n2, ... that found a cluster together.
func (w *network) found(count int) []*testNode {
	w.t.Helper()
	var all []*testNode
	var servers []Server
	for i := range count {
		tn := w.start(filepath.Join(w.t.TempDir(), "node"), fmt.Sprintf("n%d", i+1))
		all = append(all, tn)
		servers = append(servers, Server{tn.ID(), tn.addr})
	}
	for _, tn := range all {
		for _, s := range servers {
			tn.Heard(s.ID, s.BusAddr)
		}
		if err := tn.Found(servers); err != nil {
			w.t.Fatal(err)
		}
	}
	w.register(all...)
	return all
}

// register registers nodes, and waits until they are ready.
func (w *network) register(all ...*testNode) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	for _, tn := range all {
		if err := tn.Register(ctx, 1, 1e9); err != nil {
			w.t.Fatal(err)
		}
		if err := tn.Ready(); err != nil {
			w.t.Fatal(err)
		}
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline, tick := time.After(30*time.Second), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

// leader waits for one of the nodes to lead.
func leader(t *testing.T, all []*testNode) (leads *testNode, others []*testNode) {
	t.Helper()
	eventually(t, "a leader", func() bool {
		leads, others = nil, nil
		for _, tn := range all {
			if tn.leading.Load() && leads == nil {
				leads = tn
			} else {
				others = append(others, tn)
			}
		}
		return leads != nil
	})
	return leads, others
}

// set sets a policy to a limit through a node.
func (tn *testNode) set(name string, limit int) error {
	r, err := policy.ReadOne(fmt.Appendf(nil, `{"limit": %d, "window": "1s"}`, limit), name, bounds())
	if err != nil {
		return err
	}
	_, err = tn.Propose(context.Background(), PolicySet{Rule: r})
	return err
}

func (tn *testNode) mustSet(name string, limit int) {
	tn.w.t.Helper()
	if err := tn.set(name, limit); err != nil {
		tn.w.t.Fatal(err)
	}
	if got := tn.limit(name); got != limit {
		tn.w.t.Fatalf("set to %d, and this node has %d", limit, got)
	}
}

// limit is a policy's, as the node knows it; 0: there is none.
func (tn *testNode) limit(name string) int {
	if r := tn.View().Policies.Get(name); r != nil {
		return int(r.Limit)
	}
	return 0
}

func TestAlone(t *testing.T) {
	dir, fatal := t.TempDir(), make(chan error, 1)
	open := func() *Node {
		n, err := Open(testConfig(dir, "n1", fatal))
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Register(t.Context(), 1, 1e9); err != nil {
			t.Fatal(err)
		}
		return n
	}
	n := open()
	if err := n.Ready(); err != nil {
		t.Fatal(err)
	}
	tn := &testNode{Node: n, w: &network{t: t}}
	tn.mustSet("a", 5)
	eventually(t, "a cluster id", func() bool { return isID(n.View().Cluster) })
	if _, err := Open(testConfig(dir, "n2", fatal)); err == nil || !strings.Contains(err.Error(), "is in use by another process") {
		t.Errorf("the directory was opened twice: %v", err)
	}
	id, epoch, cluster := n.ID(), n.Epoch(), n.View().Cluster
	if err := n.Snapshot(t.Context()); err != nil {
		t.Error(err)
	}
	tn.mustSet("b", 6)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	n = open()
	tn.Node = n
	if n.ID() != id || n.Epoch() <= epoch || n.View().Cluster != cluster || tn.limit("a") != 5 || tn.limit("b") != 6 || !n.View().Votes(id) {
		t.Errorf("%s %d %+v", n.ID(), n.Epoch(), n.View())
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if len(fatal) > 0 {
		t.Error(<-fatal)
	}
}

func TestThreeNodes(t *testing.T) {
	w := newNetwork(t)
	all := w.found(3)
	for i, tn := range all {
		tn.mustSet(fmt.Sprintf("p%d", i), i+1)
	}
	for i := range all {
		for _, tn := range all {
			eventually(t, "the policy everywhere", func() bool { return tn.limit(fmt.Sprintf("p%d", i)) == i+1 })
		}
	}
	leads, others := leader(t, all)
	leads.kill()
	for i, tn := range others {
		tn.mustSet("after", i+10)
	}
	back := w.start(leads.dir, leads.name)
	for _, tn := range others {
		back.Heard(tn.ID(), tn.addr)
		tn.Heard(back.ID(), back.addr)
	}
	w.register(back)
	if back.limit("after") != 11 || back.limit("p0") != 1 {
		t.Errorf("after %d, p0 %d", back.limit("after"), back.limit("p0"))
	}
	back.mustSet("p0", 100)
	if m, _ := others[0].View().Named(back.name); m.Epoch == 0 || m.ID != back.ID() {
		t.Errorf("%+v", m)
	}
}

// All come back with other addresses, after all were killed at once.
func TestAllRestartElsewhere(t *testing.T) {
	w := newNetwork(t)
	all := w.found(3)
	all[1].mustSet("a", 7)
	for _, tn := range all {
		tn.kill()
	}
	var again []*testNode
	for _, tn := range all {
		again = append(again, w.start(tn.dir, tn.name))
	}
	for _, tn := range again {
		for _, other := range again {
			tn.Heard(other.ID(), other.addr)
		}
	}
	w.register(again...)
	for _, tn := range again {
		if tn.limit("a") != 7 || tn.View().Cluster == "" {
			t.Errorf("%+v", tn.View())
		}
		eventually(t, "the new address", func() bool {
			m, _ := again[0].View().Named(tn.name)
			return m.BusAddr == tn.addr
		})
	}
	again[2].mustSet("a", 8)
}

// join lets a new node into the cluster of a member.
func (w *network) join(member *testNode, dir, name string) *testNode {
	w.t.Helper()
	tn := w.start(dir, name)
	if err := member.Admit(w.t.Context(), tn.ID(), tn.addr); err != nil {
		w.t.Fatal(err)
	}
	tn.Heard(member.ID(), member.addr)
	w.register(tn)
	return tn
}

func TestJoinPromoteRemove(t *testing.T) {
	w := newNetwork(t)
	all := w.found(1)
	all[0].mustSet("a", 3)
	for i := 2; i <= 4; i++ {
		all = append(all, w.join(all[len(all)-1], t.TempDir(), fmt.Sprintf("n%d", i)))
		if got := all[len(all)-1].limit("a"); got != 3 {
			t.Errorf("n%d has limit %d", i, got)
		}
	}
	first, fourth := all[0], all[3]
	votes := func(of *testNode) string {
		var names []string
		for _, m := range of.View().Members() {
			if of.View().Votes(m.ID) {
				names = append(names, m.Name)
			}
		}
		return strings.Join(names, " ")
	}
	eventually(t, "three voters", func() bool { return votes(first) == "n1 n2 n3" && votes(fourth) == "n1 n2 n3" })

	// A dead voter is removed, and the next votes.
	all[1].kill()
	if err := fourth.Remove(t.Context(), "n2"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the next voter", func() bool { return votes(first) == "n1 n3 n4" })
	if _, is := fourth.View().Named("n2"); is {
		t.Error("n2 is a member")
	}
	// It cannot come back by itself, but when it may.
	back := w.start(all[1].dir, "n2")
	back.Heard(first.ID(), first.addr)
	var refused *RefusedError
	if err := first.Admit(t.Context(), back.ID(), back.addr); !errors.As(err, &refused) || !strings.Contains(err.Error(), "was removed from the cluster") {
		t.Errorf("it was admitted: %v", err)
	}
	if _, err := fourth.Propose(t.Context(), NodeAdd{"n2"}); err != nil {
		t.Fatal(err)
	}
	if err := fourth.Admit(t.Context(), back.ID(), back.addr); err != nil {
		t.Fatal(err)
	}
	w.register(back)
	if err := first.Promote(t.Context(), "n2"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "four voters", func() bool { return votes(back) == "n1 n2 n3 n4" })
	if err := first.Promote(t.Context(), "nobody"); !errors.As(err, &refused) {
		t.Errorf("nobody was promoted: %v", err)
	}
	leads, others := leader(t, []*testNode{first, all[2], fourth, back})
	if err := others[0].Remove(t.Context(), leads.name); !errors.As(err, &refused) || !strings.Contains(err.Error(), "this node leads") {
		t.Errorf("the leader was removed: %v", err)
	}
}

// A name that another member has is refused.
func TestNameIsTaken(t *testing.T) {
	w := newNetwork(t)
	all := w.found(1)
	tn := w.start(t.TempDir(), "n1")
	if err := all[0].Admit(t.Context(), tn.ID(), tn.addr); err != nil {
		t.Fatal(err)
	}
	tn.Heard(all[0].ID(), all[0].addr)
	var refused *RefusedError
	if err := tn.Register(t.Context(), 1, 1e9); !errors.As(err, &refused) || !strings.Contains(err.Error(), "the name n1 belongs to node") {
		t.Error(err)
	}
	if err := tn.Ready(); err == nil {
		t.Error("it is ready")
	}
	// It never registered, so it is removed by its id.
	if err := all[0].Remove(t.Context(), tn.ID()); err != nil {
		t.Error(err)
	}
}

// Without a majority a write fails within its time, and says whether it may
// have been made; what was known is still there.
func TestNoMajority(t *testing.T) {
	w := newNetwork(t)
	all := w.found(3)
	all[0].mustSet("a", 1)
	leads, others := leader(t, all)
	for _, tn := range others {
		eventually(t, "a is everywhere", func() bool { return tn.limit("a") == 1 })
		w.setCut(tn.ID(), true)
	}
	// The leader took it, so it may be made yet.
	if err := leads.set("a", 2); !errors.Is(err, policy.ErrOutcomeUnknown) {
		t.Errorf("at the leader: %v", err)
	}
	if err := others[0].set("a", 3); !errors.Is(err, policy.ErrNotWritten) {
		t.Errorf("at another: %v", err)
	}
	if got := others[0].limit("a"); got != 1 {
		t.Errorf("a is %d", got)
	}
	if err := others[0].Ready(); err != nil {
		t.Errorf("readiness latches: %v", err)
	}
	for _, tn := range others {
		w.setCut(tn.ID(), false)
	}
	eventually(t, "a write", func() bool { return others[1].set("a", 4) == nil })
}

// Of three nodes two are lost for good.
func TestRecover(t *testing.T) {
	w := newNetwork(t)
	all := w.found(3)
	all[0].mustSet("a", 1)
	eventually(t, "a is everywhere", func() bool { return all[2].limit("a") == 1 })
	for _, tn := range all {
		tn.kill()
	}
	id, err := Recover(all[2].dir, time.Now, slog.New(slog.DiscardHandler))
	if err != nil || id != all[2].ID() {
		t.Fatal(id, err)
	}
	back := w.start(all[2].dir, "n3")
	w.register(back)
	if back.limit("a") != 1 || !back.View().Votes(id) || len(back.View().Voters) != 1 {
		t.Errorf("%+v", back.View())
	}
	back.mustSet("a", 2)
	// A new node takes the place of one that was lost.
	if err := back.Remove(t.Context(), "n1"); err != nil {
		t.Fatal(err)
	}
	w.join(back, t.TempDir(), "n1").mustSet("a", 3)
	if _, err := Recover(t.TempDir(), time.Now, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("an empty directory was recovered")
	}
}
