package bus

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// Serve accepts connections until Close, when it returns ErrClosed. It takes
// over the listener. A failed accept is reported and tried again, at most every
// second: out of descriptors is no reason to spin or to die.
func (b *Bus) Serve(ln net.Listener) error {
	if b.cfg.Credentials().server == nil {
		return errors.Join(fmt.Errorf("bus: a %s accepts nobody", b.cfg.Credentials().role), ln.Close())
	}
	if !b.track(ln) {
		return errors.Join(ErrClosed, ln.Close())
	}
	defer b.untrack(ln)
	const firstPause, longestPause = 5 * time.Millisecond, time.Second
	pause := firstPause
	for {
		raw, err := ln.Accept()
		if err == nil {
			pause = firstPause
			b.open(raw)
			continue
		}
		if b.closed() {
			return ErrClosed
		}
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		if b.cfg.Events.Accept != nil {
			b.cfg.Events.Accept(err)
		}
		select {
		case <-b.stopping.Done():
			return ErrClosed
		case <-time.After(pause):
			pause = min(2*pause, longestPause)
		}
	}
}

func (b *Bus) track(ln net.Listener) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed() {
		return false
	}
	b.listeners[ln] = struct{}{}
	b.running.Add(1)
	return true
}

func (b *Bus) untrack(ln net.Listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.listeners, ln)
	_ = ln.Close() // Close may have closed it
	b.running.Done()
}

// open starts to greet a peer, or refuses it without a word.
func (b *Bus) open(raw net.Conn) {
	if err := b.admit(raw); err != nil {
		_ = raw.Close()
		b.refused(raw, err)
		return
	}
	go func() {
		defer b.running.Done()
		c, err := b.greet(raw)
		b.dismiss(raw)
		if err == nil {
			err = b.deliver(c)
		}
		if err != nil {
			_ = raw.Close()
			b.refused(raw, err)
		}
	}()
}

// admit counts a stranger, if there is room.
func (b *Bus) admit(raw net.Conn) error {
	host := hostOf(raw.RemoteAddr())
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed():
		return ErrClosed
	case len(b.strangers) >= b.cfg.MaxStrangers:
		return &RefusedError{Reason: ReasonStrangers, Detail: "too many connections that have not greeted"}
	case b.hosts[host] >= b.cfg.MaxStrangersPerHost:
		return &RefusedError{Reason: ReasonHost, Detail: "too many connections of one host that have not greeted"}
	}
	b.strangers[raw] = host
	b.hosts[host]++
	b.running.Add(1)
	return nil
}

// dismiss takes a stranger out of the count: it has greeted, or it failed.
func (b *Bus) dismiss(raw net.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	host := b.strangers[raw]
	delete(b.strangers, raw)
	if b.hosts[host]--; b.hosts[host] == 0 {
		delete(b.hosts, host)
	}
}

// refused reports a connection that came to nothing.
func (b *Bus) refused(raw net.Conn, err error) {
	if b.cfg.Events.Refused == nil || b.closed() {
		return
	}
	why := ReasonTLS
	var refusal *RefusedError
	switch {
	case errors.As(err, &refusal):
		why = refusal.Reason
	case errors.Is(err, os.ErrDeadlineExceeded):
		why = ReasonTimeout
	case gone(err):
		why = ReasonGone
	}
	b.cfg.Events.Refused(raw.RemoteAddr().String(), why, err)
}

func gone(err error) bool {
	for _, end := range [...]error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

// greet makes the handshake, reads the peer's hello and answers it.
func (b *Bus) greet(raw net.Conn) (*Conn, error) {
	now := b.cfg.Now()
	if err := raw.SetDeadline(now.Add(b.cfg.HandshakeTimeout)); err != nil {
		return nil, err
	}
	meter := &bounded{Conn: raw, left: maxStranger}
	credentials := b.cfg.Credentials()
	sec := tls.Server(meter, credentials.server)
	if err := sec.Handshake(); err != nil {
		return nil, handshakeError(err)
	}
	role, err := credentials.accepts(sec.ConnectionState())
	if err != nil {
		return nil, err
	}
	if err := raw.SetDeadline(b.cfg.Now().Add(b.cfg.HelloTimeout)); err != nil {
		return nil, err
	}
	g, err := readGreeting(sec)
	if err != nil {
		return nil, b.decline(sec, malformed(err))
	}
	own := b.cfg.Identity()
	if err := b.judge(g, role, &own); err != nil {
		return nil, b.decline(sec, err)
	}
	g.hello.Role = role
	c := &Conn{Conn: sec, bus: b, raw: raw, peer: g.hello}
	if err := b.remember(c); err != nil {
		return nil, b.decline(sec, err)
	}
	if err := say(sec, &greeting{hello: Hello{Identity: own, Lane: g.hello.Lane}}); err != nil {
		b.forget(c)
		return nil, err
	}
	meter.open = true
	return c, nil
}

// judge says what is wrong with a peer's hello, if anything is.
func (b *Bus) judge(g *greeting, role Role, own *Identity) error {
	lane := g.hello.Lane
	switch {
	case g.refusal != nil:
		return g.refusal
	case !lane.known():
		return &RefusedError{Reason: ReasonLane, Detail: "no such lane: " + lane.String()}
	case !role.May(lane):
		return &RefusedError{Reason: ReasonRole, Detail: "a " + role.String() + " may not open lane " + lane.String()}
	case strange(g.hello.Cluster, own.Cluster):
		return &RefusedError{Reason: ReasonCluster, Detail: "this is cluster " + own.Cluster + ", not " + g.hello.Cluster}
	case g.wanted != "" && g.wanted != own.Node:
		return &RefusedError{Reason: ReasonNode, Detail: "this is node " + own.Node + ", not " + g.wanted}
	case b.lane(lane) == nil:
		return &RefusedError{Reason: ReasonUnserved, Detail: "lane " + lane.String() + " is not served yet"}
	}
	return nil
}

// strange says whether two clusters differ; one that is not known yet does not.
func strange(one, other string) bool { return one != "" && other != "" && one != other }

// decline tells the peer why it is refused, where it has proved who it is.
func (b *Bus) decline(sec *tls.Conn, err error) error {
	var refusal *RefusedError
	if errors.As(err, &refusal) && !refusal.ByPeer {
		_ = say(sec, &greeting{refusal: refusal}) // it may be gone already
	}
	return err
}

func malformed(err error) error {
	switch {
	case errors.Is(err, errVersion):
		return &RefusedError{Reason: ReasonVersion, Detail: err.Error()}
	case errors.Is(err, errGreeting):
		return &RefusedError{Reason: ReasonGreeting, Detail: err.Error()}
	}
	return err
}

func say(w io.Writer, g *greeting) error {
	b, err := appendGreeting(nil, g)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// handshakeError names what a failed handshake means.
func handshakeError(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" {
		return fmt.Errorf("%w: %w", ErrRefusedTLS, err)
	}
	return err
}
