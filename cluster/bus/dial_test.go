package bus

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
)

func lanes() []Lane {
	return []Lane{LaneRaft, LaneControl, LaneLease, LaneDecide, LaneStream, LaneSubscribe}
}

// Each lane carries bytes both ways, and each side knows who the other is.
func TestLanes(t *testing.T) {
	a, b := start(t), other(t)
	for _, lane := range lanes() {
		t.Run(lane.String(), func(t *testing.T) {
			l := a.listen(t, lane)
			dialed, accepted := pair(t, b, a, l)
			if got, want := dialed.Peer(), (Hello{Identity: identity(nodeA), Role: RoleMember, Lane: lane}); got != want {
				t.Errorf("the dialer knows %+v, want %+v", got, want)
			}
			if got, want := accepted.Peer(), (Hello{Identity: identity(nodeB), Role: RoleMember, Lane: lane}); got != want {
				t.Errorf("the listener knows %+v, want %+v", got, want)
			}
			exchange(t, dialed, accepted)
			exchange(t, accepted, dialed)
			dialed.Close()
			if n, err := accepted.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("read %d, %v after the end", n, err)
			}
			accepted.Close()
			for _, n := range []*node{a, b} {
				if next(t, n.opened).Lane != lane || next(t, n.closed).Lane != lane {
					t.Error("opened or closed another lane")
				}
			}
		})
	}
}

func exchange(t *testing.T, from, to net.Conn) {
	t.Helper()
	const text = "some bytes"
	if _, err := from.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(to, got); err != nil || string(got) != text {
		t.Fatalf("read %q, %v", got, err)
	}
}

func TestOtherSecret(t *testing.T) {
	stranger, err := FromSecrets([]byte("another cluster's secret"), nil)
	if err != nil {
		t.Fatal(err)
	}
	a, b := start(t), other(t, with(stranger))
	a.listen(t, LaneRaft)
	if _, err := b.Dial(t.Context(), Target{Addr: a.addr}, LaneRaft); !errors.Is(err, ErrStranger) {
		t.Errorf("got %v, want %v", err, ErrStranger)
	}
	expectRefused(t, a, ReasonTLS)
}

func TestOtherCluster(t *testing.T) {
	a := start(t)
	a.listen(t, LaneRaft)
	b := other(t, named(func(id *Identity) { id.Cluster = "test" }))
	_, err := b.Dial(t.Context(), Target{Addr: a.addr}, LaneRaft)
	expectReason(t, err, ReasonCluster, true)
	expectRefused(t, a, ReasonCluster)
}

// A node that does not know its cluster yet talks to all, and the identity is
// asked for anew each time.
func TestClusterUnknown(t *testing.T) {
	id := identity(nodeB)
	id.Cluster = ""
	a, b := start(t), other(t, func(c *Config) { c.Identity = func() Identity { return id } })
	l := a.listen(t, LaneControl)
	_, accepted := pair(t, b, a, l)
	if got := accepted.Peer().Cluster; got != "" {
		t.Errorf("the peer's cluster is %q", got)
	}
	id.Cluster = "prod"
	_, accepted = pair(t, b, a, l)
	if got := accepted.Peer().Cluster; got != "prod" {
		t.Errorf("the peer's cluster is %q", got)
	}
}

// An address that has moved to another node does not lead there.
func TestTarget(t *testing.T) {
	a, b := start(t), other(t)
	l := a.listen(t, LaneRaft)
	_, err := b.Dial(t.Context(), Target{Node: nodeB, Addr: a.addr}, LaneRaft)
	expectReason(t, err, ReasonNode, true)
	expectRefused(t, a, ReasonNode)

	to := Target{Node: nodeA, Addr: a.addr}
	if got := ParseTarget(to.String()); got != to {
		t.Errorf("%s was read as %+v", to, got)
	}
	theirs := b.listen(t, LaneRaft)
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = io.Copy(c, c)
			c.Close()
		}
	}()
	c, err := theirs.DialTimeout(to.String(), patience)
	if err != nil {
		t.Fatal(err)
	}
	exchange(t, c, c)
	c.Close()
}

func TestUnserved(t *testing.T) {
	a, b := start(t), other(t)
	_, err := b.Dial(t.Context(), Target{Addr: a.addr}, LaneStream)
	expectReason(t, err, ReasonUnserved, true)
	expectRefused(t, a, ReasonUnserved)

	l := a.listen(t, LaneStream)
	if _, err := a.Listen(LaneStream); err == nil {
		t.Error("a lane was served twice")
	}
	if _, err := a.Listen(7); err == nil {
		t.Error("an unknown lane was served")
	}
	l.Close()
	if c, err := l.Accept(); !errors.Is(err, ErrClosed) {
		t.Errorf("Accept: %v, %v", c, err)
	}
	a.listen(t, LaneStream) // again
}

// A lane that ends before it has taken a connection cuts it.
func TestNotAccepted(t *testing.T) {
	a, b := start(t), other(t)
	l := a.listen(t, LaneRaft)
	c, err := b.Dial(t.Context(), Target{Addr: a.addr}, LaneRaft)
	if err != nil {
		t.Fatal(err)
	}
	next(t, a.opened)
	l.Close()
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("read %d, %v", n, err)
	}
	expectRefused(t, a, ReasonUnserved)
	next(t, a.closed)
}

func TestDialEnds(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	reached := make(chan struct{}, 2)
	b := other(t, func(c *Config) {
		dial := c.Dial
		c.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			defer func() { reached <- struct{}{} }()
			return dial(ctx, addr)
		}
	})
	to := Target{Addr: silent.Addr().String()}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { _, err := b.Dial(ctx, to, LaneRaft); result <- err }()
	next(t, reached)
	cancel()
	if err := next(t, result); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: got %v", err)
	}
	go func() { _, err := b.Dial(context.Background(), to, LaneRaft); result <- err }()
	next(t, reached)
	b.Close()
	if err := next(t, result); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: got %v", err)
	}
}

// Close ends what is open, and what is waited for.
func TestClose(t *testing.T) {
	a, b := start(t), other(t)
	l := a.listen(t, LaneRaft)
	dialed, accepted := pair(t, b, a, l)
	waiting := make(chan error, 1)
	go func() { _, err := l.Accept(); waiting <- err }()
	stranger, err := net.Dial("tcp", a.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	a.Close()
	if err := next(t, waiting); !errors.Is(err, ErrClosed) {
		t.Errorf("Accept: %v", err)
	}
	for name, c := range map[string]net.Conn{"dialed": dialed, "accepted": accepted, "stranger": stranger} {
		if n, err := c.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: read %d bytes", name, n)
		}
	}
	if _, err := a.Listen(LaneLease); !errors.Is(err, ErrClosed) {
		t.Errorf("Listen: %v", err)
	}
	if _, err := a.Dial(t.Context(), Target{Addr: "127.0.0.1:1"}, LaneRaft); !errors.Is(err, ErrClosed) {
		t.Errorf("Dial: %v", err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Serve(ln); !errors.Is(err, ErrClosed) {
		t.Errorf("Serve: %v", err)
	}
	a.Close()
}

// An identity that cannot be said is an error of whoever has it.
func TestBadIdentity(t *testing.T) {
	a := start(t)
	a.listen(t, LaneRaft)
	b := other(t, named(func(id *Identity) { id.Name = "" }))
	if _, err := b.Dial(t.Context(), Target{Addr: a.addr}, LaneRaft); err == nil {
		t.Error("a node without a name was let in")
	}
	b = other(t)
	if _, err := b.Dial(t.Context(), Target{Node: "n1", Addr: a.addr}, LaneRaft); err == nil {
		t.Error("a target without an id was dialed")
	}
}

// failing is a listener whose first accepts fail.
type failing struct {
	net.Listener

	left int
}

var errAccept = errors.New("too many open files")

func (f *failing) Accept() (net.Conn, error) {
	if f.left > 0 {
		f.left--
		return nil, errAccept
	}
	return f.Listener.Accept()
}

// A failed accept is reported, and tried again.
func TestAcceptFails(t *testing.T) {
	const failures = 3
	errs := make(chan error, failures)
	a := newNode(t, func(c *Config) { c.Events.Accept = func(err error) { errs <- err } })
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a.addr = ln.Addr().String()
	a.serve(t, &failing{Listener: ln, left: failures})
	for range failures {
		if err := next(t, errs); !errors.Is(err, errAccept) {
			t.Errorf("reported %v", err)
		}
	}
	pair(t, other(t), a, a.listen(t, LaneRaft))
}
