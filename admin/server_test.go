package admin

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestNewReportsAllThatIsMissing(t *testing.T) {
	_, err := New(Config{})
	for _, want := range []string{"no node", "no clock", "no logger"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

func TestHealth(t *testing.T) {
	node := newFakeNode()
	url := serve(t, config(node))
	for _, path := range []string{"/healthz", "/readyz"} {
		if body, answer := get(t, url+path); answer.StatusCode != http.StatusOK || body != "ok\n" {
			t.Errorf("%s: %d %q", path, answer.StatusCode, body)
		}
	}
	node.set(func(n *fakeNode) { n.ready, n.live = errors.New("draining"), errors.New("the sweeper stands") })
	for path, want := range map[string]string{"/healthz": "the sweeper stands\n", "/readyz": "draining\n"} {
		body, answer := get(t, url+path)
		if answer.StatusCode != http.StatusServiceUnavailable || body != want {
			t.Errorf("%s: %d %q", path, answer.StatusCode, body)
		}
		if got := answer.Header.Get("Content-Type"); got != "text/plain; charset=utf-8" {
			t.Errorf("%s: Content-Type %q", path, got)
		}
	}
}

func TestUnknownPaths(t *testing.T) {
	s := newServer(t, config(newFakeNode()))
	for path, want := range map[string]int{
		"/nothing": http.StatusNotFound, "/page.html": http.StatusNotFound, "/web/live.html": http.StatusNotFound,
		"/metrics/": http.StatusNotFound, "/healthz/x": http.StatusNotFound,
		"/debug/pprof/nothing": http.StatusNotFound, "/debug/pprof/cmdline": http.StatusNotFound, "/debug/vars": http.StatusNotFound,
		"//": http.StatusTemporaryRedirect, "/x/../metrics": http.StatusTemporaryRedirect,
	} {
		w := ask(s, httptest.NewRequest(http.MethodGet, "http://localhost"+path, http.NoBody), "127.0.0.1:5000", "127.0.0.1:8379")
		if w.Code != want {
			t.Errorf("%s: status %d, want %d", path, w.Code, want)
		}
	}
}

func TestProfile(t *testing.T) {
	url := serve(t, config(newFakeNode()))
	body, answer := get(t, url+"/debug/pprof/profile?seconds=1")
	if answer.StatusCode != http.StatusOK || !strings.HasPrefix(body, "\x1f\x8b") {
		t.Errorf("status %d, %d bytes", answer.StatusCode, len(body))
	}
	for _, path := range []string{"profile?seconds=61", "profile?seconds=1e9", "trace?seconds=inf", "trace?seconds=nan", "heap?seconds=3600"} {
		body, answer = get(t, url+"/debug/pprof/"+path)
		if answer.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: status %d %q", path, answer.StatusCode, body)
		}
	}
}

// TestShutdownEndsProfiles: a profile that takes half a minute does not hold
// up the end.
func TestShutdownEndsProfiles(t *testing.T) {
	ln := listen(t)
	s := newServer(t, config(newFakeNode()))
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	conn := dial(t, ln)
	send(t, conn, "GET /debug/pprof/trace?seconds=30 HTTP/1.1\r\nHost: localhost\r\n\r\n")
	head := make([]byte, len("HTTP/1.1 200 OK"))
	if _, err := io.ReadFull(conn, head); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	stopped(t, served)
}

// TestShutdownCuts: a request that never ends is cut when the time is over.
func TestShutdownCuts(t *testing.T) {
	ln := listen(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	defer close(leave)
	cfg := config(newFakeNode())
	cfg.Access = func(string, string) Visitor {
		close(entered)
		<-leave
		return Visitor{Role: RoleAdmin}
	}
	s := newServer(t, cfg)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	conn := dial(t, ln)
	send(t, conn, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown returned %v", err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection lives")
	}
	stopped(t, served)
}

func TestOnlyLoopbackWithoutUsers(t *testing.T) {
	cfg := config(newFakeNode())
	for _, addr := range []string{"0.0.0.0:0", "[::]:0"} {
		ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", addr)
		if err != nil {
			t.Logf("%s: %v", addr, err)
			continue
		}
		if err := newServer(t, cfg).Serve(ln); !errors.Is(err, ErrExposed) {
			t.Errorf("%s: Serve returned %v", addr, err)
		}
		if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s is still open: %v", addr, err)
		}
	}
}

// TestSlowPeers: one that does not finish its headers, and one that asks
// nothing more, are gone after their time.
func TestSlowPeers(t *testing.T) {
	for _, test := range []struct {
		name, send string
		after      time.Duration
	}{
		{"nothing", "", readHeaderTimeout},
		{"half a header", "GET / HTTP/1.1\r\nHost: local", readHeaderTimeout},
		{"idle", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", idleTimeout},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ln := newPipeListener()
				s := newServer(t, config(newFakeNode()))
				served := make(chan error, 1)
				go func() { served <- s.Serve(ln) }()
				conn := ln.dial()
				begun := time.Now()
				go func() { _, _ = io.WriteString(conn, test.send) }()
				if _, err := io.Copy(io.Discard, conn); err != nil {
					t.Error(err)
				}
				if took := time.Since(begun); took != test.after {
					t.Errorf("cut after %s, want %s", took, test.after)
				}
				if err := s.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
				stopped(t, served)
			})
		})
	}
}

func TestHeadersAreBounded(t *testing.T) {
	url := serve(t, config(newFakeNode()))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/healthz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	req.Header.Set("X-Long", strings.Repeat("x", 64<<10))
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d", answer.StatusCode)
	}
}

// TestConnectionsAreBounded: one too many waits until another goes.
func TestConnectionsAreBounded(t *testing.T) {
	pipes := newPipeListener()
	ln := newBoundedListener(pipes, 2)
	accepted := make(chan net.Conn)
	go func() {
		defer close(accepted)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	go func() {
		for range 3 {
			_ = pipes.dial().Close()
		}
	}()
	first, second := <-accepted, <-accepted
	select {
	case <-accepted:
		t.Fatal("a third connection was accepted")
	default:
	}
	if len(ln.slots) != 2 {
		t.Errorf("%d slots are taken", len(ln.slots))
	}
	_, _ = first.Close(), first.Close() // the second time frees nothing
	third := <-accepted
	if len(ln.slots) != 2 {
		t.Errorf("%d slots are taken", len(ln.slots))
	}
	if err := ln.Close(); err != nil {
		t.Error(err)
	}
	if _, open := <-accepted; open {
		t.Error("accepted after Close")
	}
	_, _ = second.Close(), third.Close()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

func dial(t *testing.T, ln net.Listener) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func send(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

// pipeListener hands out pipes as if they were loopback connections.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{make(chan net.Conn), make(chan struct{})}
}

func (l *pipeListener) dial() net.Conn {
	here, there := net.Pipe()
	l.conns <- there
	return here
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	close(l.closed)
	return nil
}

func (*pipeListener) Addr() net.Addr { return net.TCPAddrFromAddrPort(mustAddrPort("127.0.0.1:8379")) }
