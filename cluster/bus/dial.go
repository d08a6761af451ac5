package bus

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"time"
)

// Target is whom to dial.
type Target struct {
	Node string // the node's id; empty: whoever answers
	Addr string // for Config.Dial
}

// ParseTarget reads "id@address" or "address".
func ParseTarget(s string) Target {
	if node, addr, ok := strings.Cut(s, "@"); ok {
		return Target{Node: node, Addr: addr}
	}
	return Target{Addr: s}
}

// String is what ParseTarget reads.
func (t Target) String() string {
	if t.Node == "" {
		return t.Addr
	}
	return t.Node + "@" + t.Addr
}

// Dial opens a connection on a lane. Where the Target names a node, no other is
// talked to: addresses move from one node to another. Besides what Config.Dial
// returns, errors are ErrStranger, ErrRefusedTLS, a *RefusedError, ctx's, or
// ErrClosed. In all cases nothing but the greeting was sent.
func (b *Bus) Dial(ctx context.Context, to Target, lane Lane) (*Conn, error) {
	if own := b.cfg.Credentials().role; !own.May(lane) {
		return nil, &RefusedError{Reason: ReasonRole, Detail: "a " + own.String() + " may not open lane " + lane.String()}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(b.stopping, cancel)()

	c, err := b.dial(ctx, to, lane)
	if err == nil {
		return c, nil
	}
	if b.closed() {
		return nil, ErrClosed
	}
	return nil, fmt.Errorf("bus: dial %s on lane %s: %w", to, lane, err)
}

func (b *Bus) dial(ctx context.Context, to Target, lane Lane) (*Conn, error) {
	raw, err := b.cfg.Dial(ctx, to.Addr)
	if err != nil {
		return nil, err
	}
	cut := context.AfterFunc(ctx, func() { _ = raw.Close() })
	c, err := b.introduce(raw, to, lane)
	if !cut() { // ctx has ended, whatever failed because of it
		if c != nil {
			_ = c.Close()
		}
		_ = raw.Close()
		return nil, ctx.Err()
	}
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	return c, nil
}

// introduce makes the handshake, sends this node's hello and reads the answer.
func (b *Bus) introduce(raw net.Conn, to Target, lane Lane) (*Conn, error) {
	if err := raw.SetDeadline(b.cfg.Now().Add(b.cfg.HandshakeTimeout)); err != nil {
		return nil, err
	}
	meter := &bounded{Conn: raw, left: maxStranger}
	sec := tls.Client(meter, b.cfg.Credentials().client)
	if err := sec.Handshake(); err != nil {
		return nil, handshakeError(err)
	}
	if err := raw.SetDeadline(b.cfg.Now().Add(b.cfg.HelloTimeout)); err != nil {
		return nil, err
	}
	own := b.cfg.Identity()
	if err := say(sec, &greeting{hello: Hello{Identity: own, Lane: lane}, wanted: to.Node}); err != nil {
		return nil, handshakeError(err)
	}
	g, err := readGreeting(sec)
	if err != nil {
		return nil, handshakeError(malformed(err)) // a refused certificate shows only now
	}
	if err := answered(g, to, lane, &own); err != nil {
		return nil, err
	}
	g.hello.Role = RoleMember // the handshake accepts no other
	c := &Conn{Conn: sec, bus: b, raw: raw, peer: g.hello, dialed: true}
	if err := raw.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	meter.open = true
	b.keepAlive(raw)
	if err := b.remember(c); err != nil {
		return nil, err
	}
	if b.cfg.Events.Opened != nil {
		b.cfg.Events.Opened(c.peer, raw.RemoteAddr().String())
	}
	return c, nil
}

// answered says what is wrong with the answer to a hello, if anything is.
func answered(g *greeting, to Target, lane Lane, own *Identity) error {
	switch {
	case g.refusal != nil:
		return g.refusal
	case g.hello.Lane != lane:
		return &RefusedError{Reason: ReasonLane, Detail: "the answer is for lane " + g.hello.Lane.String()}
	case strange(g.hello.Cluster, own.Cluster):
		return &RefusedError{Reason: ReasonCluster, Detail: "that is cluster " + g.hello.Cluster + ", not " + own.Cluster}
	case to.Node != "" && g.hello.Node != to.Node:
		return &RefusedError{Reason: ReasonNode, Detail: "that is node " + g.hello.Node + ", not " + to.Node}
	}
	return nil
}
