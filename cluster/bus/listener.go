package bus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Listener accepts the connections of one lane. It is a net.Listener; with
// DialTimeout it is what a transport needs that asks for both.
type Listener struct {
	bus   *Bus
	lane  Lane
	conns chan *Conn
	done  chan struct{}
	once  sync.Once
}

// Listen serves a lane from now on. It fails where the lane is unknown or
// served already. The Listener must be accepted from: a peer that nobody takes
// within HelloTimeout is cut.
func (b *Bus) Listen(lane Lane) (*Listener, error) {
	if !lane.known() {
		return nil, fmt.Errorf("bus: there is no %s", lane)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed() {
		return nil, ErrClosed
	}
	if b.lanes[lane] != nil {
		return nil, fmt.Errorf("bus: lane %s is served already", lane)
	}
	l := &Listener{bus: b, lane: lane, conns: make(chan *Conn), done: make(chan struct{})}
	b.lanes[lane] = l
	return l, nil
}

func (b *Bus) lane(lane Lane) *Listener {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lanes[lane]
}

// deliver hands a connection to its lane's Listener.
func (b *Bus) deliver(c *Conn) error {
	if err := c.raw.SetDeadline(time.Time{}); err != nil {
		return errors.Join(err, c.Close())
	}
	b.keepAlive(c.raw)
	if b.cfg.Events.Opened != nil {
		b.cfg.Events.Opened(c.peer, c.raw.RemoteAddr().String())
	}
	unserved := &RefusedError{Reason: ReasonUnserved, Detail: "nobody took the connection on lane " + c.peer.Lane.String()}
	l := b.lane(c.peer.Lane)
	if l == nil {
		return errors.Join(unserved, c.Close())
	}
	patience := time.NewTimer(b.cfg.HelloTimeout)
	defer patience.Stop()
	select {
	case l.conns <- c:
		return nil
	case <-l.done:
	case <-b.stopping.Done():
	case <-patience.C:
	}
	return errors.Join(unserved, c.Close())
}

// Accept waits for a connection; it is a *Conn. It returns ErrClosed when the
// Listener or the Bus was closed.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.AcceptConn()
	if err != nil {
		return nil, err
	}
	return c, nil
}

// AcceptConn is Accept with the type that it returns.
func (l *Listener) AcceptConn() (*Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
	case <-l.bus.stopping.Done():
	}
	return nil, ErrClosed
}

// Close stops to serve the lane. Connections that were accepted stay.
func (l *Listener) Close() error {
	l.once.Do(func() {
		close(l.done)
		l.bus.mu.Lock()
		defer l.bus.mu.Unlock()
		delete(l.bus.lanes, l.lane)
	})
	return nil
}

// Addr is the address that the Config announces.
func (l *Listener) Addr() net.Addr { return announced(l.bus.cfg.Announce) }

// DialTimeout opens a connection on the Listener's lane to a Target, as
// ParseTarget reads it.
func (l *Listener) DialTimeout(target string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(l.bus.stopping, timeout)
	defer cancel()
	c, err := l.bus.Dial(ctx, ParseTarget(target), l.lane)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// announced is an address that others know.
type announced string

// Network is that of net.Addr.
func (announced) Network() string { return "tcp" }

// String is that of net.Addr.
func (a announced) String() string { return string(a) }
