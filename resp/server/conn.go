package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/rlserver/rlserver/resp"
)

// conn is one connection: a session and the goroutine that feeds it.
type conn struct {
	server  *Server
	net     net.Conn
	host    string // the peer's address without port
	session *resp.Session
	wake    chan struct{} // a waiting command can be finished

	stranger bool // guarded by server.mu: it counts as one of its address
	killed   atomic.Bool
	read     atomic.Int64
	written  atomic.Int64
	lastAt   atomic.Int64 // Unix nanoseconds of the last batch

	readBy  time.Time // the read deadline that is set; zero: none
	writeBy time.Time
	partial bool // readBy bounds a command that has begun to arrive
}

func newConn(s *Server, nc net.Conn) *conn {
	host, _, err := net.SplitHostPort(nc.RemoteAddr().String())
	if err != nil {
		host = nc.RemoteAddr().String()
	}
	return &conn{server: s, net: nc, host: host, wake: make(chan struct{}, 1)}
}

// start gives the connection its session.
func (c *conn) start(id int64) {
	now := c.server.cfg.Now()
	c.lastAt.Store(now)
	events := &resp.Events{Panic: func(value any, stack []byte) {
		if c.server.cfg.Events.Panic != nil {
			c.server.cfg.Events.Panic(c.session.Info(), value, stack)
		}
	}}
	c.session = resp.NewSession(resp.ClientInfo{
		ID:         id,
		RemoteAddr: c.net.RemoteAddr().String(),
		LocalAddr:  c.net.LocalAddr().String(),
		CreatedAt:  now,
	}, c.server.cfg.Handler, &c.server.cfg.Limits, events)
}

// serve moves bytes until the connection ends, and says why it did.
func (c *conn) serve() (why Reason) {
	defer func() {
		_ = c.net.Close() // it may be closed already
		if c.killed.Load() {
			why = ReasonKilled
		}
	}()
	if c.server.cfg.Events.Opened != nil {
		c.server.cfg.Events.Opened(c.session.Info())
	}
	if t, ok := c.net.(*tls.Conn); ok {
		ctx, cancel := context.WithTimeout(c.server.stopping, c.server.cfg.HandshakeTimeout)
		err := t.HandshakeContext(ctx)
		cancel()
		if err != nil {
			return ReasonHandshake
		}
	}
	for {
		if err := c.boundRead(); err != nil {
			return ReasonPeer
		}
		n, err := c.net.Read(c.session.Buffer())
		if n > 0 {
			c.read.Add(int64(n))
			c.session.Received(n)
			if why := c.process(); why != "" {
				return why
			}
		}
		if err != nil {
			return c.readFailed(err)
		}
	}
}

// process runs what has arrived and sends the replies; a reason if the
// connection ends.
func (c *conn) process() Reason {
	for {
		now := c.server.cfg.Now()
		c.lastAt.Store(now)
		status := c.session.Process(now)
		if err := c.flush(); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return ReasonWrite
			}
			return ReasonPeer
		}
		if c.session.Authenticated && c.stranger {
			c.server.acquainted(c)
		}
		switch status {
		case resp.StatusRead:
			return ""
		case resp.StatusClose:
			return ReasonQuit
		case resp.StatusWait:
			c.session.Start(func() { c.wake <- struct{}{} })
			<-c.wake
		}
	}
}

// flush sends the output. Until it is sent nothing more is read, which is all
// the back-pressure there is.
func (c *conn) flush() error {
	out := c.session.Output()
	if len(out) == 0 {
		c.session.Sent(0)
		return nil
	}
	// The deadline is moved only when half of it is gone: a peer has between
	// WriteTimeout and twice that to take its replies.
	now := c.server.cfg.Deadline(0)
	if c.writeBy.Sub(now) < c.server.cfg.WriteTimeout {
		c.writeBy = now.Add(2 * c.server.cfg.WriteTimeout)
		if err := c.net.SetWriteDeadline(c.writeBy); err != nil {
			return err
		}
	}
	n, err := c.net.Write(out)
	c.written.Add(int64(n))
	c.session.Sent(n)
	return err
}

// drainRead is how long a connection that is being drained is listened to for
// commands that were on their way.
const drainRead = 20 * time.Millisecond

// boundRead sets the deadline of the next read: short when the server stops,
// fixed while a command is incomplete (bytes that dribble in do not move it),
// else the idle time. It costs nothing where the deadline stays.
func (c *conn) boundRead() error {
	var by time.Time
	switch partial := c.session.Incomplete(); {
	case partial && c.partial:
		by = c.readBy
	case partial:
		by = c.server.cfg.Deadline(c.server.cfg.CommandTimeout)
	case c.server.cfg.IdleTimeout > 0:
		by = c.server.cfg.Deadline(c.server.cfg.IdleTimeout)
	}
	c.partial = c.session.Incomplete()
	if !by.Equal(c.readBy) {
		c.readBy = by
		if err := c.net.SetReadDeadline(by); err != nil {
			return err
		}
	}
	// Last, so that an interrupt that came meanwhile is not undone.
	if c.server.stopping.Err() != nil {
		c.readBy = c.server.cfg.Deadline(drainRead)
		return c.net.SetReadDeadline(c.readBy)
	}
	return nil
}

// interrupt makes the connection look whether the server stops.
func (c *conn) interrupt() {
	_ = c.net.SetReadDeadline(c.server.cfg.Deadline(drainRead)) // closed: it looks anyway
}

func (c *conn) readFailed(err error) Reason {
	switch {
	case !errors.Is(err, os.ErrDeadlineExceeded):
		return ReasonPeer
	case c.server.stopping.Err() != nil:
		return ReasonShutdown
	case c.partial:
		return ReasonCommand
	}
	return ReasonIdle
}
