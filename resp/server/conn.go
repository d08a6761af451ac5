package server

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"

	"github.com/rlserver/rlserver/resp"
)

// conn is one connection: a session and the goroutine that feeds it.
type conn struct {
	server  *Server
	net     net.Conn
	host    string // what MaxClientsPerAddr counts
	session *resp.Session
	wake    chan struct{} // a waiting command can be finished, or the connection was killed

	stranger bool // it counts as one of its host; its own goroutine's once it runs
	killed   atomic.Bool
	reads    atomic.Bool // there is no handshake any more
	read     atomic.Int64
	written  atomic.Int64
	lastAt   atomic.Int64 // Unix nanoseconds of the last batch
	timers   timers
}

func newConn(s *Server, nc net.Conn) *conn {
	return &conn{server: s, net: nc, host: hostOf(nc.RemoteAddr()), wake: make(chan struct{}, 1)}
}

// start gives the connection its session.
func (c *conn) start(id int64) {
	now := c.server.cfg.Now()
	c.lastAt.Store(now)
	peer := resp.ClientInfo{
		ID:         id,
		RemoteAddr: c.net.RemoteAddr().String(),
		LocalAddr:  c.net.LocalAddr().String(),
		CreatedAt:  now,
	}
	events := &resp.Events{Panic: func(value any, stack []byte) {
		if c.server.cfg.Events.Panic == nil {
			return
		}
		if c.session != nil { // else its Open has panicked
			peer = c.session.Info()
		}
		c.server.cfg.Events.Panic(peer, value, stack)
	}}
	c.session = resp.NewSession(peer, c.server.cfg.Handler, &c.server.cfg.Limits, events)
}

// serve moves bytes until the connection ends, and says why it did.
func (c *conn) serve() (why Reason) {
	defer func() {
		if why == ReasonShutdown {
			c.linger()
		}
		_ = c.net.Close() // it may be closed already
		if c.killed.Load() {
			why = ReasonKilled
		}
	}()
	if c.server.cfg.Events.Opened != nil {
		c.server.cfg.Events.Opened(c.session.Info())
	}
	if c.session.Err() != nil {
		return c.process()
	}
	if !c.handshake() {
		return ReasonHandshake
	}
	c.reads.Store(true)
	for {
		if err := c.armRead(); err != nil {
			return ReasonPeer
		}
		n, err := c.net.Read(c.session.Buffer())
		if n > 0 {
			c.read.Add(int64(n))
			c.session.Received(n)
			c.timers.rested = false
			if why := c.process(); why != "" {
				return why
			}
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if why := c.expired(); why != "" {
				return why
			}
		} else if err != nil {
			return ReasonPeer
		}
	}
}

// linger lets a client that is asking read its last replies before its socket
// is closed: to close one with something unread in it takes back what the peer
// has not read yet.
func (c *conn) linger() {
	cfg := &c.server.cfg
	end, ok := c.net.(interface{ CloseWrite() error })
	if !ok || cfg.Now()-c.lastAt.Load() > int64(lingerTime) || end.CloseWrite() != nil {
		return
	}
	under := bottom(c.net)
	if under.SetReadDeadline(cfg.Deadline(lingerTime)) == nil {
		_, _ = io.Copy(io.Discard, under) // until the client has seen the end
	}
}

func (c *conn) handshake() bool {
	t, ok := c.net.(*tls.Conn)
	if !ok {
		return true
	}
	ctx, cancel := context.WithTimeout(c.server.stopping, c.server.cfg.HandshakeTimeout)
	defer cancel()
	err := t.HandshakeContext(ctx)
	if err == nil {
		return true
	}
	if report := c.server.cfg.Events.Handshake; report != nil && c.server.stopping.Err() == nil && !c.killed.Load() {
		report(c.net.RemoteAddr().String(), err)
	}
	return false
}

// process runs what has arrived and sends the replies; a reason if the
// connection ends.
func (c *conn) process() Reason {
	for {
		now := c.server.cfg.Now()
		c.lastAt.Store(now)
		status := c.session.Process(now)
		if status == resp.StatusWait {
			c.session.Start(c.wakeUp) // before the flush, which takes time
		}
		if why := c.flush(now); why != "" {
			return why
		}
		if c.stranger && c.session.Authenticated {
			c.server.acquainted(c)
		}
		switch status {
		case resp.StatusRead:
			return ""
		case resp.StatusClose:
			return closed(c.session.Err())
		case resp.StatusWait:
			if <-c.wake; c.killed.Load() {
				return ReasonKilled
			}
		case resp.StatusFlush:
		}
	}
}

// wakeUp never blocks: the goroutine may be gone when it is called.
func (c *conn) wakeUp() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// closed is the reason behind what ended a session.
func closed(err error) Reason {
	var protocol resp.ProtocolError
	switch {
	case err == nil:
		return ReasonQuit
	case errors.Is(err, resp.ErrPanic):
		return ReasonPanic
	case errors.As(err, &protocol) && protocol.Stranger():
		return ReasonStranger
	}
	return ReasonProtocol
}

// flush sends the output. Until it is sent nothing more is read, which is all
// the back-pressure there is.
func (c *conn) flush(now int64) Reason {
	out := c.session.Output()
	if len(out) == 0 {
		return ""
	}
	if err := c.armWrite(now); err != nil {
		return ReasonPeer
	}
	n, err := c.net.Write(out)
	c.written.Add(int64(n))
	c.session.Sent(n)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		cut(c.net)
		return ReasonWrite
	}
	if err != nil {
		return ReasonPeer
	}
	return ""
}

// kill cuts the connection, whatever its goroutine does. It says whether it
// was the first to do so.
func (c *conn) kill() bool {
	if !c.killed.CompareAndSwap(false, true) {
		return false
	}
	cut(c.net)
	c.wakeUp()
	return true
}
