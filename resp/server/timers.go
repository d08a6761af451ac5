package server

import "time"

// timers are the deadlines that are set on the socket, in the server's time; 0:
// none. To set one costs more than a small command, so they are set too early
// and moved when they expire, some times a second at most.
type timers struct {
	read     int64
	write    int64
	draining bool // read is the end of the drain, and stays
	rested   bool // the session has given its memory back, and nothing has arrived since
}

const (
	// restAfter is how long a connection keeps the memory of its last batch.
	restAfter = int64(2 * time.Second)
	// restAbove is the memory, in bytes, of a connection that may keep it.
	restAbove = 2 << 10
	// drainRead is how long a connection that is being drained is listened to
	// for commands that were on their way.
	drainRead = 20 * time.Millisecond
	// lingerTime is how long a client that asked something as long ago may take
	// to see that the connection ends.
	lingerTime = time.Second
)

// due is when the connection is to be looked at if nothing arrives, in the
// server's time, and what ends it then, if anything does; 0: never. A command
// that has begun to arrive is due at a fixed time: bytes that dribble in do
// not move it.
func (c *conn) due(tuning *Tuning) (at int64, why Reason) {
	if since, partial := c.session.IncompleteSince(); partial {
		return since + int64(tuning.CommandTimeout), ReasonCommand
	}
	if tuning.IdleTimeout > 0 {
		at, why = c.lastAt.Load()+int64(tuning.IdleTimeout), ReasonIdle
	}
	if c.timers.rested || c.session.Footprint() <= restAbove {
		return at, why
	}
	if rest := c.lastAt.Load() + restAfter; at == 0 || rest < at {
		return rest, ""
	}
	return at, why
}

// armRead sees to it that the next read ends when something is due.
func (c *conn) armRead() error {
	t := &c.timers
	if t.draining {
		return nil
	}
	for tuning := (*Tuning)(nil); tuning != c.server.tuning.Load(); { // again if it changes meanwhile
		tuning = c.server.tuning.Load()
		if at, _ := c.due(tuning); at != 0 && (t.read == 0 || at < t.read) {
			t.read = at
			if err := c.net.SetReadDeadline(c.server.cfg.Deadline(time.Duration(at - c.lastAt.Load()))); err != nil {
				return err
			}
		}
	}
	// Last, so that an interrupt that came meanwhile is not undone.
	if c.server.stopping.Err() != nil {
		t.draining = true
		return c.net.SetReadDeadline(c.server.cfg.Deadline(drainRead))
	}
	return nil
}

// expired says why the connection ends now that a read's deadline is over, if
// it does.
func (c *conn) expired() Reason {
	t := &c.timers
	if t.draining {
		return ReasonShutdown
	}
	now := c.server.cfg.Now()
	tuning := c.server.tuning.Load()
	at, why := c.due(tuning)
	switch {
	case at == 0 || now < at:
	case why != "":
		return why
	default:
		c.session.Rest()
		t.rested = true
		at, _ = c.due(tuning)
	}
	t.read = at
	var deadline time.Time
	if at != 0 {
		deadline = c.server.cfg.Deadline(time.Duration(at - now))
	}
	if c.net.SetReadDeadline(deadline) != nil {
		return ReasonPeer
	}
	return ""
}

// interrupt makes the connection look whether the server stops.
func (c *conn) interrupt() {
	_ = c.net.SetReadDeadline(c.server.cfg.Deadline(drainRead)) // closed: it looks anyway
}

// look makes the connection look what is due.
func (c *conn) look() {
	_ = c.net.SetReadDeadline(c.server.cfg.Deadline(0)) // closed: it has ended
}

// armWrite bounds the next write.
func (c *conn) armWrite(now int64) error {
	timeout := c.server.tuning.Load().WriteTimeout
	if left := c.timers.write - now; left >= int64(timeout) && left <= 2*int64(timeout) {
		return nil
	}
	c.timers.write = now + 2*int64(timeout)
	return c.net.SetWriteDeadline(c.server.cfg.Deadline(2 * timeout))
}
