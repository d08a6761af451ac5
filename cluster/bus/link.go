package bus

import (
	"encoding/binary"
	"sync"
	"time"
)

// link is one connection of a Client: the calls that are in flight on it.
type link struct {
	conn  *Conn
	cfg   *ClientConfig
	out   *outbox
	calls sync.Pool // of *call

	mu      sync.Mutex // taken before out's
	pending map[uint32]*call
	last    uint32    // id of a call
	silent  time.Time // since then calls have not been answered; zero: they have
}

// call is one that waits for its answer. Whoever takes it out of pending
// finishes it.
type call struct {
	link  *link
	id    uint32
	place uint64 // of its frame, in the outbox
	timer *time.Timer
	done  func([]byte, error)
}

func newLink(conn *Conn, cfg *ClientConfig) *link {
	return &link{
		conn:    conn,
		cfg:     cfg,
		out:     newOutbox(conn, cfg.Limits.MaxQueue, cfg.Limits.WriteTimeout),
		pending: make(map[uint32]*call),
	}
}

// run moves frames until the connection ends, and says why it did. Then no call
// is left.
func (l *link) run() error {
	err := l.out.pump(l.read)
	l.fail(err)
	return err
}

// read takes answers until the connection ends.
func (l *link) read() error {
	frames := newFrameReader(l.conn, l.cfg.Limits.MaxFrame)
	for {
		f, err := frames.next()
		if err != nil {
			return err
		}
		l.answered(f)
	}
}

func (l *link) send(f frame) error {
	if len(f.payload) > l.cfg.Limits.MaxFrame {
		return notDone(errTooLong(len(f.payload), l.cfg.Limits.MaxFrame))
	}
	if _, err := l.out.add(f, nil); err != nil {
		return notDone(err)
	}
	return nil
}

func (l *link) start(f frame, timeout time.Duration, done func([]byte, error)) error {
	if len(f.payload) > l.cfg.Limits.MaxFrame {
		return notDone(errTooLong(len(f.payload), l.cfg.Limits.MaxFrame))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) >= l.cfg.Limits.MaxCalls {
		return notDone(errCalls)
	}
	f.id = l.freeID()
	place, err := l.out.add(f, nil)
	if err != nil {
		return notDone(err)
	}
	c, ok := l.calls.Get().(*call)
	if !ok {
		c = &call{link: l}
	}
	c.id, c.place, c.done = f.id, place, done
	l.pending[f.id] = c
	if c.timer == nil {
		c.timer = time.AfterFunc(timeout, c.expire)
	} else {
		c.timer.Reset(timeout)
	}
	return nil
}

// freeID is the next id that no call has.
func (l *link) freeID() uint32 {
	for {
		l.last++
		if _, taken := l.pending[l.last]; !taken && l.last != oneWay {
			return l.last
		}
	}
}

// answered finishes a call. An answer to none is one that came too late.
func (l *link) answered(f frame) {
	l.mu.Lock()
	l.silent = time.Time{}
	c, ok := l.pending[f.id]
	if !ok {
		l.mu.Unlock()
		return
	}
	if f.kind == answerHold {
		l.hold(c, f.payload)
		l.mu.Unlock()
		return
	}
	delete(l.pending, f.id)
	l.mu.Unlock()

	done := c.done
	c.done = nil
	if c.timer.Stop() { // else it runs, and still looks at c
		l.calls.Put(c)
	}
	switch f.kind {
	case answerReply:
		done(f.payload, nil)
	case answerRefused:
		done(nil, &CallRefusedError{Detail: string(f.payload)})
	case answerWithdrawn:
		done(nil, unknown(errWithdrawn))
	default:
		done(nil, unknown(errAnswer))
	}
}

// hold gives a call more time.
func (l *link) hold(c *call, payload []byte) {
	if len(payload) != 4 {
		return
	}
	more := time.Duration(binary.BigEndian.Uint32(payload)) * time.Millisecond
	if c.timer.Stop() {
		c.timer.Reset(min(more, l.cfg.Limits.MaxHold))
	}
}

// expire gives a call up. Where no call at all is answered for too long, so is
// the connection.
func (c *call) expire() {
	l := c.link
	l.mu.Lock()
	if l.pending[c.id] != c {
		l.mu.Unlock()
		return
	}
	delete(l.pending, c.id)
	now := l.conn.bus.cfg.Now()
	if l.silent.IsZero() {
		l.silent = now
	}
	dead := now.Sub(l.silent) >= l.cfg.SilenceLimit
	l.mu.Unlock()
	if dead {
		l.out.end(errSilent)
	}
	c.done(nil, unknown(errTimeout))
}

// fail ends all calls. Those that were not handed to the connection are not
// done.
func (l *link) fail(cause error) {
	sent := l.out.sent()
	l.mu.Lock()
	pending := l.pending
	l.pending = nil
	l.mu.Unlock()
	for _, c := range pending {
		c.timer.Stop()
		if c.place >= sent {
			c.done(nil, notDone(cause))
		} else {
			c.done(nil, unknown(cause))
		}
	}
}
