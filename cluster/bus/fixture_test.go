package bus

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

// patience bounds what a test waits for. It only passes when a test fails.
const patience = 10 * time.Second

var (
	clusterSecret = []byte("the secret of the cluster")
	gatewaySecret = []byte("the secret of the gateways")
)

func identity(node string) Identity {
	return Identity{Cluster: "prod", Node: node, Name: "n" + node[:2], Level: 1}
}

func fromSecrets(tb testing.TB) *Credentials {
	tb.Helper()
	c, err := FromSecrets(clusterSecret, gatewaySecret)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func fromGatewaySecret(tb testing.TB) *Credentials {
	tb.Helper()
	c, err := FromGatewaySecret(gatewaySecret)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// node is a Bus and what it reports.
type node struct {
	*Bus

	addr    string // of its listener
	opened  chan Hello
	closed  chan Hello
	refused chan Reason
}

// newNode makes a member that serves nothing yet. It is closed when the test
// ends.
func newNode(tb testing.TB, change ...func(*Config)) *node {
	tb.Helper()
	const events = 1000 // more than a test has
	n := &node{opened: make(chan Hello, events), closed: make(chan Hello, events), refused: make(chan Reason, events)}
	cfg := DefaultConfig()
	credentials := fromSecrets(tb)
	cfg.Identity = func() Identity { return identity(nodeA) }
	cfg.Credentials = func() *Credentials { return credentials }
	cfg.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
	cfg.Now = time.Now
	cfg.Events = Events{
		Opened:  func(peer Hello, _ string) { n.opened <- peer },
		Closed:  func(peer Hello, _ string) { n.closed <- peer },
		Refused: func(_ string, why Reason, _ error) { n.refused <- why },
	}
	for _, c := range change {
		c(&cfg)
	}
	b, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	n.Bus = b
	tb.Cleanup(b.Close)
	return n
}

// start makes a member that serves on a loopback socket.
func start(tb testing.TB, change ...func(*Config)) *node {
	tb.Helper()
	n := newNode(tb, change...)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	n.addr = ln.Addr().String()
	n.serve(tb, ln)
	return n
}

func (n *node) serve(tb testing.TB, ln net.Listener) {
	tb.Helper()
	done := make(chan error, 1)
	go func() { done <- n.Serve(ln) }()
	tb.Cleanup(func() {
		n.Close()
		if err := <-done; !errors.Is(err, ErrClosed) {
			tb.Errorf("Serve: %v", err)
		}
	})
}

// other makes a second node, which serves nothing.
func other(tb testing.TB, change ...func(*Config)) *node {
	tb.Helper()
	id := func(c *Config) { c.Identity = func() Identity { return identity(nodeB) } }
	return newNode(tb, append([]func(*Config){id}, change...)...)
}

// with makes the node use credentials.
func with(c *Credentials) func(*Config) {
	return func(cfg *Config) { cfg.Credentials = func() *Credentials { return c } }
}

// named changes who the node says it is.
func named(change func(*Identity)) func(*Config) {
	return func(c *Config) {
		id := c.Identity()
		change(&id)
		c.Identity = func() Identity { return id }
	}
}

func (n *node) listen(tb testing.TB, lane Lane) *Listener {
	tb.Helper()
	l, err := n.Listen(lane)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// pair opens a connection on a lane and returns both of its ends.
func pair(tb testing.TB, from, to *node, l *Listener) (dialed, accepted *Conn) {
	tb.Helper()
	got := make(chan *Conn, 1)
	go func() {
		c, err := l.AcceptConn()
		if err != nil {
			tb.Errorf("Accept: %v", err)
		}
		got <- c
	}()
	dialed, err := from.Dial(tb.Context(), Target{Addr: to.addr}, l.lane)
	if err != nil {
		_ = l.Close() // Accept ends
		tb.Fatal(err)
	}
	return dialed, next(tb, got)
}

func next[T any](tb testing.TB, from <-chan T) (v T) {
	tb.Helper()
	select {
	case v = <-from:
	case <-time.After(patience):
		tb.Fatalf("no %T came", v)
	}
	return v
}

func expectRefused(tb testing.TB, n *node, want Reason) {
	tb.Helper()
	if got := next(tb, n.refused); got != want {
		tb.Errorf("refused because of %s, want %s", got, want)
	}
}

func expectReason(tb testing.TB, err error, want Reason, byPeer bool) {
	tb.Helper()
	var refusal *RefusedError
	if !errors.As(err, &refusal) || refusal.Reason != want || refusal.ByPeer != byPeer {
		tb.Errorf("got %v, want a refusal because of %s, by the peer: %t", err, want, byPeer)
	}
}
