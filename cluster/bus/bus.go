// Package bus carries bytes between nodes that trust each other: TLS 1.3 on one
// TCP port per node, each connection on one lane. What a peer may open depends
// on what it proves in the handshake; who it is it says in one greeting. Client
// and Serve put calls with many answers in flight on top.
package bus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// ErrClosed is returned once a Bus, a Listener or a Client was closed.
var ErrClosed = fmt.Errorf("bus: closed: %w", net.ErrClosed)

// Config is what a Bus needs.
type Config struct {
	// Identity is asked at each connection: a node may learn its cluster late. It
	// must be valid.
	Identity func() Identity
	// Credentials are asked for at each connection, so that an operator's
	// certificates can be replaced. Never nil.
	Credentials func() *Credentials
	// Dial opens a connection. Its address is a Target's.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Now is the system's time, for the deadlines of sockets.
	Now      func() time.Time
	Announce string // the address under which others reach this node: that of the Listeners
	Events   Events

	HandshakeTimeout time.Duration // of TLS
	HelloTimeout     time.Duration // of the greeting, and for a Listener to accept
	KeepAlive        time.Duration // after which a silent peer is probed; 0: as the connection has it

	MaxStrangers        int // connections that have not greeted yet, at once
	MaxStrangersPerHost int // of one address, of IPv6 one /64
	MaxMembers          int // accepted connections of members
	MaxGateways         int // accepted connections of gateways
}

// DefaultConfig lacks Identity, Credentials, Dial and Now. A stranger has 5 s.
func DefaultConfig() Config {
	return Config{
		HandshakeTimeout:    3 * time.Second,
		HelloTimeout:        2 * time.Second,
		KeepAlive:           15 * time.Second,
		MaxStrangers:        256,
		MaxStrangersPerHost: 32,
		MaxMembers:          1024,
		MaxGateways:         4096,
	}
}

// Validate reports everything that is missing or out of range.
func (c *Config) Validate() error {
	var errs []error
	for _, f := range []struct {
		name    string
		missing bool
	}{
		{"identity", c.Identity == nil},
		{"credentials", c.Credentials == nil},
		{"dialer", c.Dial == nil},
		{"clock", c.Now == nil},
	} {
		if f.missing {
			errs = append(errs, fmt.Errorf("bus: no %s", f.name))
		}
	}
	for _, t := range []struct {
		name         string
		value, least time.Duration
	}{
		{"handshake timeout", c.HandshakeTimeout, 1},
		{"hello timeout", c.HelloTimeout, 1},
		{"keep-alive", c.KeepAlive, 0},
	} {
		if t.value < t.least {
			errs = append(errs, fmt.Errorf("bus: %s must be at least %s, got %s", t.name, t.least, t.value))
		}
	}
	for _, n := range []struct {
		name  string
		value int
	}{
		{"max strangers", c.MaxStrangers},
		{"max strangers per host", c.MaxStrangersPerHost},
		{"max members", c.MaxMembers},
		{"max gateways", c.MaxGateways},
	} {
		if n.value < 1 {
			errs = append(errs, fmt.Errorf("bus: %s must be at least 1, got %d", n.name, n.value))
		}
	}
	return errors.Join(errs...)
}

// Events reports what happens to connections. Fields may be nil; they are
// called from many goroutines.
type Events struct {
	Opened  func(peer Hello, addr string) // accepted or dialed
	Closed  func(peer Hello, addr string)
	Refused func(addr string, why Reason, err error) // one that was accepted
	Accept  func(err error)                          // a failed accept; it is tried again
}

// Bus opens and accepts connections.
type Bus struct {
	cfg Config

	stopping context.Context // ends when Close is called
	stop     context.CancelFunc
	running  sync.WaitGroup // Serve, and connections until a Listener has them

	mu        sync.Mutex // not held while anything is waited for
	listeners map[net.Listener]struct{}
	lanes     map[Lane]*Listener
	strangers map[net.Conn]string // to the host
	hosts     map[string]int      // strangers of a host
	conns     map[*Conn]struct{}
	accepted  map[Role]int // of conns
}

// New returns a Bus that serves nothing yet.
func New(cfg Config) (*Bus, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	b := &Bus{
		cfg:       cfg,
		listeners: make(map[net.Listener]struct{}),
		lanes:     make(map[Lane]*Listener),
		strangers: make(map[net.Conn]string),
		hosts:     make(map[string]int),
		conns:     make(map[*Conn]struct{}),
		accepted:  make(map[Role]int),
	}
	b.stopping, b.stop = context.WithCancel(context.Background())
	return b, nil
}

// Close ends everything: what Serve listens to, the Listeners, all connections
// and those that are being opened. It returns when no goroutine of the Bus is
// left; those of its users see their connections end.
func (b *Bus) Close() {
	b.mu.Lock()
	b.stop()
	for ln := range b.listeners {
		_ = ln.Close() // Accept reports it
	}
	for c := range b.strangers {
		_ = c.Close()
	}
	open := make([]*Conn, 0, len(b.conns))
	for c := range b.conns {
		open = append(open, c)
	}
	b.mu.Unlock()
	for _, c := range open {
		_ = c.Close()
	}
	b.running.Wait()
}

func (b *Bus) closed() bool { return b.stopping.Err() != nil }
