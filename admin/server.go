package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Config is what a Server needs.
type Config struct {
	Node Node
	Now  func() int64 // Unix nanoseconds
	Log  *slog.Logger

	Policies Policies // nil: policies are not served

	// Access says what a user may see; "" is whoever names none. Nil: everybody
	// may see everything, and only loopback is served.
	Access func(user, password string) Visitor
	// Hosts are names and addresses, besides those of loopback and the address
	// that is bound, by which the server may be called.
	Hosts []string
}

// Visitor is what somebody may see.
type Visitor struct {
	Role Role
	Sees func(key string) bool // nil: every key
}

// Role is what kind of things somebody may see. A higher one includes those
// below.
type Role int

// The roles.
const (
	RoleNobody Role = iota // health alone
	RoleReader             // metrics and the status page
	RoleAdmin              // profiles, and changing policies
)

// ErrExposed is returned by Serve for an address that others can reach while
// nothing says who may come in.
var ErrExposed = errors.New("no password protects this address: only loopback can be served")

// Bounds of a connection.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	writeTimeout      = 10 * time.Second
	idleTimeout       = 30 * time.Second
	maxHeaderBytes    = 16 << 10
	maxConns          = 256
)

// Server serves one node over HTTP.
type Server struct {
	cfg     Config
	http    *http.Server
	history history
	refused refusals

	ctx  context.Context // ends when Shutdown is called
	stop context.CancelFunc
	runs sync.WaitGroup // the goroutine that fills history
}

// New returns a Server that serves nothing yet.
func New(cfg Config) (*Server, error) {
	var errs []error
	if cfg.Node == nil {
		errs = append(errs, errors.New("admin: no node"))
	}
	if cfg.Now == nil {
		errs = append(errs, errors.New("admin: no clock"))
	}
	if cfg.Log == nil {
		errs = append(errs, errors.New("admin: no logger"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg}
	s.ctx, s.stop = context.WithCancel(context.Background())
	handler, err := s.routes()
	if err != nil {
		return nil, err
	}
	s.http = &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return s.ctx },
		ErrorLog:          slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// Serve serves until Shutdown, when it returns http.ErrServerClosed. It takes
// over the listener, which may speak TLS.
func (s *Server) Serve(ln net.Listener) error {
	if s.cfg.Access == nil && !loopback(ln.Addr()) {
		return errors.Join(fmt.Errorf("%w: %s", ErrExposed, ln.Addr()), ln.Close())
	}
	s.runs.Go(s.keepHistory)
	defer s.runs.Wait()
	defer s.stop()
	return s.http.Serve(newBoundedListener(ln, maxConns))
}

// Shutdown stops accepting, lets requests finish, and closes. Profiles end
// early. When ctx ends first, what is left is cut and ctx's error returned.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	return err
}

// loopback says whether an address can only be reached from this machine.
func loopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// boundedListener keeps at most so many connections open; others wait to be
// accepted.
type boundedListener struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	close  sync.Once
}

func newBoundedListener(ln net.Listener, most int) *boundedListener {
	return &boundedListener{Listener: ln, slots: make(chan struct{}, most), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *boundedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &boundedConn{Conn: conn, done: func() { <-l.slots }}, nil
}

// Close implements net.Listener.
func (l *boundedListener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type boundedConn struct {
	net.Conn
	once sync.Once
	done func()
}

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.done)
	return err
}
