package bus

import (
	"errors"
	"net"
	"net/netip"
	"sync"
)

// Conn is a connection whose two sides have greeted each other. It must be
// closed by whoever got it.
type Conn struct {
	net.Conn // TLS

	bus    *Bus
	raw    net.Conn // below TLS
	peer   Hello
	dialed bool
	once   sync.Once
}

// Peer is the other side.
func (c *Conn) Peer() Hello { return c.peer }

// Close cuts the connection, without TLS' farewell: that would wait for a peer
// that does not read. What was written is still sent.
func (c *Conn) Close() error {
	var err error
	c.once.Do(func() {
		err = c.raw.Close()
		c.bus.forget(c)
		if c.bus.cfg.Events.Closed != nil {
			c.bus.cfg.Events.Closed(c.peer, c.raw.RemoteAddr().String())
		}
	})
	return err
}

// remember counts a connection, unless there are too many of its role or the
// Bus is closed.
func (b *Bus) remember(c *Conn) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed() {
		return ErrClosed
	}
	if !c.dialed {
		most := b.cfg.MaxMembers
		if c.peer.Role == RoleGateway {
			most = b.cfg.MaxGateways
		}
		if b.accepted[c.peer.Role] >= most {
			return &RefusedError{Reason: ReasonBusy, Detail: "too many connections of " + c.peer.Role.String() + "s"}
		}
		b.accepted[c.peer.Role]++
	}
	b.conns[c] = struct{}{}
	return nil
}

func (b *Bus) forget(c *Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.conns[c]; !ok {
		return
	}
	delete(b.conns, c)
	if !c.dialed {
		b.accepted[c.peer.Role]--
	}
}

// keepAlive finds peers that are gone without a word.
func (b *Bus) keepAlive(c net.Conn) {
	tcp, ok := c.(*net.TCPConn)
	if !ok || b.cfg.KeepAlive == 0 {
		return
	}
	const probes = 3
	_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{ // it may be gone already
		Enable: true, Idle: b.cfg.KeepAlive, Interval: b.cfg.KeepAlive / probes, Count: probes,
	})
}

// maxStranger is what a peer may send until it has greeted, in bytes: TLS would
// hold much more. The largest that is of use is an operator's chain of
// certificates.
const maxStranger = 32 << 10

// errTooMuch ends a handshake that is larger than any of use.
var errTooMuch = errors.New("bus: more bytes than a handshake needs")

// bounded is a connection that reads no more than maxStranger bytes until it is
// opened. It belongs to one goroutine until then.
type bounded struct {
	net.Conn

	left int
	open bool
}

// Read is that of net.Conn.
func (b *bounded) Read(p []byte) (int, error) {
	if b.open {
		return b.Conn.Read(p)
	}
	if b.left == 0 {
		return 0, errTooMuch
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// hostOf is what counts as one host: of IPv6 the /64 that it has to itself.
func hostOf(addr net.Addr) string {
	ap, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return addr.String()
	}
	ip := ap.Addr().Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	const own = 64
	prefix, err := ip.Prefix(own)
	if err != nil {
		return ip.String()
	}
	return prefix.String()
}
