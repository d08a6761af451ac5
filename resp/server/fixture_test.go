package server_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlserver/rlserver/resp"
	"github.com/rlserver/rlserver/resp/server"
)

// patience bounds what a test waits for. It only passes when a test fails.
const patience = 10 * time.Second

// fixture is a server and what it reports.
type fixture struct {
	*server.Server

	handler *handler
	cfg     server.Config
	addr    string // of its first listener, where that is a TCP one
	opened  chan resp.ClientInfo
	closed  chan server.Reason
	refused chan server.Reason
	panics  chan resp.ClientInfo
	errs    chan error // of Accept
}

// newFixture makes a server that serves nothing yet. It is shut down when the
// test ends.
func newFixture(tb testing.TB, change ...func(*server.Config)) *fixture {
	tb.Helper()
	const events = 100 // more than a test has
	f := &fixture{
		handler: newHandler(),
		opened:  make(chan resp.ClientInfo, events),
		closed:  make(chan server.Reason, events),
		refused: make(chan server.Reason, events),
		panics:  make(chan resp.ClientInfo, events),
		errs:    make(chan error, events),
	}
	f.cfg = server.DefaultConfig()
	f.cfg.Handler = f.handler
	f.cfg.Now = func() int64 { return time.Now().UnixNano() }
	f.cfg.Deadline = func(from time.Duration) time.Time { return time.Now().Add(from) }
	f.cfg.Events = server.Events{
		Opened:  func(peer resp.ClientInfo) { report(f.opened, peer) },
		Closed:  func(_ resp.ClientInfo, why server.Reason) { report(f.closed, why) },
		Refused: func(_ string, why server.Reason) { report(f.refused, why) },
		Accept:  func(err error) { report(f.errs, err) },
		Panic:   func(peer resp.ClientInfo, _ any, _ []byte) { report(f.panics, peer) },
	}
	for _, c := range change {
		c(&f.cfg)
	}
	s, err := server.New(f.cfg)
	if err != nil {
		tb.Fatal(err)
	}
	f.Server = s
	tb.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Shutdown(ctx) // whoever is left is cut
	})
	return f
}

func report[T any](to chan T, what T) {
	select {
	case to <- what:
	default:
	}
}

// serve serves a listener until the server is shut down.
func (f *fixture) serve(tb testing.TB, ln net.Listener) {
	tb.Helper()
	done := make(chan error, 1)
	go func() { done <- f.Serve(ln) }()
	tb.Cleanup(func() {
		_ = f.Shutdown(tb.Context()) // it may have been cut
		if err := <-done; !errors.Is(err, server.ErrClosed) {
			tb.Errorf("Serve: %v", err)
		}
	})
}

// start serves on a loopback socket.
func start(tb testing.TB, change ...func(*server.Config)) *fixture {
	tb.Helper()
	f := newFixture(tb, change...)
	ln := listen(tb)
	f.addr = ln.Addr().String()
	f.serve(tb, ln)
	return f
}

func listen(tb testing.TB) net.Listener {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return ln
}

// peer is a client of a test.
type peer struct {
	net.Conn

	t testing.TB
	r *bufio.Reader
}

func newPeer(tb testing.TB, c net.Conn) *peer {
	tb.Helper()
	tb.Cleanup(func() { c.Close() })
	return &peer{Conn: c, t: tb, r: bufio.NewReader(c)}
}

func (f *fixture) dial(tb testing.TB) *peer {
	tb.Helper()
	c, err := net.Dial("tcp", f.addr)
	if err != nil {
		tb.Fatal(err)
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		tb.Fatal(err)
	}
	return newPeer(tb, c)
}

func (p *peer) send(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p, text); err != nil {
		p.t.Fatalf("send %.40q: %v", text, err)
	}
}

// expect reads what must come next.
func (p *peer) expect(text string) {
	p.t.Helper()
	got := make([]byte, len(text))
	n, err := io.ReadFull(p.r, got)
	if string(got[:n]) != text {
		p.t.Fatalf("got %.80q, want %.80q: %v", got[:n], text, err)
	}
}

func (p *peer) ask(text, reply string) {
	p.t.Helper()
	p.send(text)
	p.expect(reply)
}

// expectEnd sees the connection end, with nothing before that.
func (p *peer) expectEnd() {
	p.t.Helper()
	rest, err := io.ReadAll(p.r)
	var late net.Error
	if len(rest) > 0 || errors.As(err, &late) && late.Timeout() {
		p.t.Fatalf("got %.80q, %v; want an end", rest, err)
	}
}

// next is what the server reports next.
func next[T any](tb testing.TB, from chan T) T {
	tb.Helper()
	select {
	case what := <-from:
		return what
	case <-time.After(patience):
		tb.Fatal("nothing was reported")
		panic("unreachable")
	}
}

func expectNext[T comparable](tb testing.TB, from chan T, want T) {
	tb.Helper()
	if got := next(tb, from); got != want {
		tb.Fatalf("reported %v, want %v", got, want)
	}
}

// pipes is a listener without sockets: what waits for time waits for that of
// testing/synctest.
type pipes struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// dial connects; wrap may change the server's end.
func (l *pipes) dial(tb testing.TB, wrap ...func(net.Conn) net.Conn) *peer {
	tb.Helper()
	ours, theirs := net.Pipe()
	for _, w := range wrap {
		theirs = w(theirs)
	}
	l.conns <- theirs
	return newPeer(tb, ours)
}

const ping = "*1\r\n$4\r\nPING\r\n"

func pings(n int) string { return strings.Repeat(ping, n) }

func pongs(n int) string { return strings.Repeat("+PONG\r\n", n) }
