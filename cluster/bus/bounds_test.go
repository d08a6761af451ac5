package bus

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a network without sockets, for tests in synthetic time.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes {
	return &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return announced("pipe") }

// dial is a Config's.
func (p *pipes) dial(ctx context.Context, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// connect opens a connection that the test uses itself.
func (p *pipes) connect(t *testing.T) net.Conn {
	t.Helper()
	c, err := p.dial(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// inTime runs a test in synthetic time, with a node and a way to it.
func inTime(t *testing.T, test func(t *testing.T, a *node, net *pipes), change ...func(*Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a, ln := newNode(t, change...), newPipes()
		a.serve(t, ln)
		test(t, a, ln)
	})
}

// expectCut waits for the end of a connection that a node refuses, and returns
// when it came.
func expectCut(t *testing.T, c net.Conn, begin time.Time) time.Duration {
	t.Helper()
	if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("ended with %v", err)
	}
	return time.Since(begin)
}

// A stranger that says nothing is cut after the time for a handshake.
func TestSilentStranger(t *testing.T) {
	inTime(t, func(t *testing.T, a *node, net *pipes) {
		begin := time.Now()
		if took := expectCut(t, net.connect(t), begin); took != 3*time.Second {
			t.Errorf("cut after %s", took)
		}
		expectRefused(t, a, ReasonTimeout)
	})
}

// So is one that dribbles: bytes do not buy time.
func TestSlowStranger(t *testing.T) {
	inTime(t, func(t *testing.T, a *node, net *pipes) {
		c, begin := net.connect(t), time.Now()
		record := []byte{22, 3, 1, 2, 0, 1, 0, 1, 252} // a handshake to come, of 508 bytes
		var dribble sync.WaitGroup
		defer dribble.Wait()
		dribble.Go(func() {
			for i := 0; ; i++ {
				b := byte(0)
				if i < len(record) {
					b = record[i]
				}
				if _, err := c.Write([]byte{b}); err != nil {
					return
				}
				<-time.After(100 * time.Millisecond)
			}
		})
		if took := expectCut(t, c, begin); took != 3*time.Second {
			t.Errorf("cut after %s", took)
		}
		expectRefused(t, a, ReasonTimeout)
	})
}

// Who has made the handshake has two seconds to greet.
func TestSilentAfterHandshake(t *testing.T) {
	inTime(t, func(t *testing.T, a *node, net *pipes) {
		sec := tls.Client(net.connect(t), fromSecrets(t).client)
		if err := sec.HandshakeContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if took := expectCut(t, sec, begin); took != 2*time.Second {
			t.Errorf("cut after %s", took)
		}
		expectRefused(t, a, ReasonTimeout)
	})
}

// A listener that says nothing is given up by whoever dials it.
func TestSilentListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln, begin := newPipes(), time.Now()
		b := other(t, func(c *Config) { c.Dial = ln.dial })
		go func() {
			c, err := ln.Accept()
			if err == nil {
				_, _ = io.Copy(io.Discard, c)
			}
		}()
		_, err := b.Dial(t.Context(), Target{}, LaneRaft)
		if took := time.Since(begin); err == nil || took != 3*time.Second {
			t.Errorf("got %v after %s", err, took)
		}
	})
}

// A handshake larger than any of use is cut as soon as it is.
func TestHugeHandshake(t *testing.T) {
	cause := make(chan error, 1)
	events := func(c *Config) {
		c.Events.Refused = func(_ string, _ Reason, err error) { cause <- err }
	}
	inTime(t, func(t *testing.T, _ *node, net *pipes) {
		c := net.connect(t)
		message := []byte{1, 0, 0xff, 0xff} // a ClientHello of 65,535 bytes
		sent := 0
		for {
			record := binary.BigEndian.AppendUint16([]byte{22, 3, 1}, 1<<14)
			record = append(append(record, message...), make([]byte, 1<<14-len(message))...)
			message = nil
			n, err := c.Write(record)
			sent += n
			if err != nil {
				break
			}
		}
		if err := next(t, cause); !errors.Is(err, errTooMuch) || sent != maxStranger {
			t.Errorf("cut after %d bytes because of %v", sent, err)
		}
	}, events)
}

// Strangers have their own bounds, in all and per host, and leave their places
// when they go.
func TestTooManyStrangers(t *testing.T) {
	for want, change := range map[Reason]func(*Config){
		ReasonStrangers: func(c *Config) { c.MaxStrangers = 2 },
		ReasonHost:      func(c *Config) { c.MaxStrangersPerHost = 2 },
	} {
		t.Run(want.String(), func(t *testing.T) {
			inTime(t, func(t *testing.T, a *node, net *pipes) {
				first := net.connect(t)
				net.connect(t)
				begin := time.Now()
				if took := expectCut(t, net.connect(t), begin); took != 0 {
					t.Errorf("cut after %s", took)
				}
				expectRefused(t, a, want)
				first.Close()
				expectRefused(t, a, ReasonGone)
				synctest.Wait()
				again := net.connect(t)
				synctest.Wait()
				if _, err := again.Write([]byte("x")); err != nil {
					t.Errorf("a place that is free was not given: %v", err)
				}
			}, change)
		})
	}
}

// Members and gateways have bounds of their own, so that the latter do not keep
// the former out.
func TestTooManyConnections(t *testing.T) {
	a := start(t, func(c *Config) { c.MaxMembers, c.MaxGateways = 1, 1 })
	b, g := other(t), other(t, with(fromGatewaySecret(t)))
	l := a.listen(t, LaneDecide)
	to := Target{Addr: a.addr}

	_, gateway := pair(t, g, a, l)
	_, member := pair(t, b, a, l)
	for _, n := range []*node{b, g} {
		_, err := n.Dial(t.Context(), to, LaneDecide)
		expectReason(t, err, ReasonBusy, true)
		expectRefused(t, a, ReasonBusy)
	}
	member.Close()
	pair(t, b, a, l)
	gateway.Close()
	pair(t, g, a, l)
}

// A Listener that accepts nothing does not keep what was opened.
func TestNobodyAccepts(t *testing.T) {
	inTime(t, func(t *testing.T, a *node, net *pipes) {
		b := other(t, func(c *Config) { c.Dial = net.dial })
		a.listen(t, LaneRaft)
		c, err := b.Dial(t.Context(), Target{}, LaneRaft)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if took := expectCut(t, c, begin); took != 2*time.Second {
			t.Errorf("cut after %s", took)
		}
		expectRefused(t, a, ReasonUnserved)
	})
}

func TestHostOf(t *testing.T) {
	for addr, want := range map[string]string{
		"10.0.0.1:80":               "10.0.0.1",
		"[::ffff:10.0.0.1]:80":      "10.0.0.1",
		"[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:80":         "fe80::/64",
		"pipe":                      "pipe",
	} {
		if got := hostOf(announced(addr)); got != want {
			t.Errorf("%s: got %s, want %s", addr, got, want)
		}
	}
}

func TestConfigValidate(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("an empty configuration was accepted")
	}
	for name, change := range map[string]func(*Config){
		"identity":    func(c *Config) { c.Identity = nil },
		"credentials": func(c *Config) { c.Credentials = nil },
		"dialer":      func(c *Config) { c.Dial = nil },
		"clock":       func(c *Config) { c.Now = nil },
		"handshake":   func(c *Config) { c.HandshakeTimeout = 0 },
		"hello":       func(c *Config) { c.HelloTimeout = -1 },
		"keep-alive":  func(c *Config) { c.KeepAlive = -1 },
		"strangers":   func(c *Config) { c.MaxStrangers = 0 },
		"per host":    func(c *Config) { c.MaxStrangersPerHost = 0 },
		"members":     func(c *Config) { c.MaxMembers = 0 },
		"gateways":    func(c *Config) { c.MaxGateways = 0 },
	} {
		cfg := newNode(t).cfg
		change(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
