package server_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlserver/rlserver/resp/server"
)

const tooMany = "-ERR max number of clients reached\r\n"

func TestMaxClients(t *testing.T) {
	f := start(t, func(c *server.Config) { c.MaxClients = 2 })
	first, second := f.dial(t), f.dial(t)
	first.ask(ping, "+PONG\r\n")
	second.ask(ping, "+PONG\r\n")
	third := f.dial(t)
	third.expect(tooMany)
	third.expectEnd()
	expectNext(t, f.refused, server.ReasonClients)
	first.ask(ping, "+PONG\r\n")

	second.Close()
	expectNext(t, f.closed, server.ReasonPeer)
	f.dial(t).ask(ping, "+PONG\r\n")
	if st := f.Stats(); st.Accepted != 3 || st.Refused != 1 || st.Clients != 2 {
		t.Errorf("stats %+v", st)
	}
}

// A client counts as one of its address until it has authenticated.
func TestMaxClientsPerAddr(t *testing.T) {
	f := start(t, func(c *server.Config) {
		c.MaxClientsPerAddr = 1
		c.Handler.(*handler).password = true
	})
	first := f.dial(t)
	first.ask(ping, "+PONG\r\n")
	refused := f.dial(t)
	refused.expect(tooMany)
	refused.expectEnd()
	expectNext(t, f.refused, server.ReasonPerAddr)

	first.ask("AUTH\r\nPING\r\n", "+OK\r\n+PONG\r\n")
	// The place is given back once the replies have left, before the next read.
	first.ask(ping, "+PONG\r\n")
	second := f.dial(t)
	second.ask(ping, "+PONG\r\n")
	first.Close()
	expectNext(t, f.closed, server.ReasonPeer)
	refused = f.dial(t)
	refused.expect(tooMany)
	second.Close()
	expectNext(t, f.closed, server.ReasonPeer)
	f.dial(t).ask(ping, "+PONG\r\n")
}

// Those of an address are counted down one by one.
func TestMaxClientsPerAddrLeave(t *testing.T) {
	f := start(t, func(c *server.Config) {
		c.MaxClientsPerAddr = 2
		c.Handler.(*handler).password = true
	})
	first, second := f.dial(t), f.dial(t)
	first.ask(ping, "+PONG\r\n")
	second.ask(ping, "+PONG\r\n")
	first.Close()
	expectNext(t, f.closed, server.ReasonPeer)
	third := f.dial(t)
	third.ask(ping, "+PONG\r\n")
	f.dial(t).expect(tooMany)
}

// Without a password nobody is a stranger.
func TestMaxClientsPerAddrOpen(t *testing.T) {
	f := start(t, func(c *server.Config) { c.MaxClientsPerAddr = 1 })
	for range 3 {
		f.dial(t).ask(ping, "+PONG\r\n")
	}
}

// IPv6 hosts have a /64 to themselves; a name for an IPv4 address is that
// address.
func TestAddresses(t *testing.T) {
	for _, row := range []struct {
		name, first, second string
		same                bool
	}{
		{"ports", "192.0.2.1:1", "192.0.2.1:2", true},
		{"IPv4", "192.0.2.1:1", "192.0.2.2:1", false},
		{"IPv4 in IPv6", "192.0.2.1:1", "[::ffff:192.0.2.1]:1", true},
		{"two IPv4 in IPv6", "[::ffff:192.0.2.2]:1", "[::ffff:192.0.2.1]:1", false},
		{"one host of IPv6", "[2001:db8::1]:1", "[2001:db8::ffff:1]:1", true},
		{"two hosts of IPv6", "[2001:db8:0:1::1]:1", "[2001:db8:0:2::1]:1", false},
		{"zones", "[fe80::1%eth0]:1", "[fe80::2%eth1]:1", true},
		{"not IP", "pipe", "pipe", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			ln := newPipes()
			f := newFixture(t, func(c *server.Config) {
				c.MaxClientsPerAddr = 1
				c.Handler.(*handler).password = true
			})
			f.serve(t, ln)
			ln.dial(t, from(row.first)).ask(ping, "+PONG\r\n")
			second := ln.dial(t, from(row.second))
			if row.same {
				second.expectEnd()
				expectNext(t, f.refused, server.ReasonPerAddr)
				return
			}
			second.ask(ping, "+PONG\r\n")
		})
	}
}

// from gives a connection the address of its peer.
func from(addr string) func(net.Conn) net.Conn {
	return func(c net.Conn) net.Conn { return addressed{c, address(addr)} }
}

type addressed struct {
	net.Conn

	remote address
}

func (a addressed) RemoteAddr() net.Addr { return a.remote }

type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }

// failing is a listener that cannot accept for a while.
type failing struct {
	*pipes

	fails int
	times []time.Time // of its calls
}

var errNoDescriptor = errors.New("too many open files")

func (l *failing) Accept() (net.Conn, error) {
	l.times = append(l.times, time.Now())
	if len(l.times) <= l.fails {
		return nil, errNoDescriptor
	}
	return l.pipes.Accept()
}

// A failed accept is reported and tried again, after pauses that grow.
func TestAcceptFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		ln := &failing{pipes: newPipes(), fails: 12}
		f.serve(t, ln)
		ln.dial(t).ask(ping, "+PONG\r\n")
		for range ln.fails {
			expectNext(t, f.errs, errNoDescriptor)
		}
		synctest.Wait()
		want := 5 * time.Millisecond
		for i := range ln.fails {
			if pause := ln.times[i+1].Sub(ln.times[i]); pause != want {
				t.Errorf("pause %d: %s, want %s", i, pause, want)
			}
			want = min(2*want, time.Second)
		}
	})
}

// A pause ends when the server does.
func TestShutdownBetweenAccepts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.serve(t, &failing{pipes: newPipes(), fails: 1 << 30})
		for range 12 {
			expectNext(t, f.errs, errNoDescriptor)
		}
		synctest.Wait()
		begin := time.Now()
		if err := f.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("Shutdown took %s", took)
		}
	})
}

// All problems are named at once.
func TestValidate(t *testing.T) {
	_, err := server.New(server.Config{KeepAlive: -1, Tuning: server.Tuning{IdleTimeout: -1, MaxClientsPerAddr: -1}})
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{
		"no handler", "no clock", "no source of deadlines", "max args", "max bulk", "max inline", "max output", "max batch",
		"max multi", "max clients must", "max clients per address", "idle timeout", "command timeout", "write timeout",
		"handshake timeout", "keep-alive",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
}

func TestValidateLeast(t *testing.T) {
	f := newFixture(t)
	cfg := f.cfg
	cfg.MaxClients, cfg.MaxClientsPerAddr, cfg.KeepAlive = 1, 0, 0
	cfg.CommandTimeout, cfg.WriteTimeout, cfg.HandshakeTimeout = 1, 1, 1
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
	cfg.MaxClients, cfg.CommandTimeout, cfg.WriteTimeout, cfg.HandshakeTimeout = 0, 0, 0, 0
	if err := cfg.Validate(); err == nil || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("got %v, want four problems", err)
	}
}

// A handler that cannot even open a session costs that connection alone.
func TestPanicInOpen(t *testing.T) {
	f := start(t, func(c *server.Config) { c.Handler = &unopenable{Handler: c.Handler} })
	p := f.dial(t)
	p.expect("-ERR internal error\r\n")
	p.expectEnd()
	expectNext(t, f.closed, server.ReasonPanic)
	if peer := next(t, f.panics); peer.ID != 1 {
		t.Errorf("reported %+v", peer)
	}
	f.dial(t).ask(ping, "+PONG\r\n")
}
