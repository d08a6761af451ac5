package bus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Handler does a call. It runs on the connection's goroutine, so what takes
// long is to be answered later, from another. It must not keep payload. Each
// call whose reply is Wanted must be answered exactly once.
type Handler func(from *Conn, kind byte, payload []byte, reply Reply)

// ServeConfig is what ServeCalls needs.
type ServeConfig struct {
	Handler Handler
	Limits  CallLimits
	// Panic reports a Handler that panicked; its connection is cut. It may be nil.
	Panic func(from Hello, kind byte, value any, stack []byte)
	// Ended reports a connection that ended, and why. It may be nil.
	Ended func(from Hello, err error)
}

// ServeCalls answers calls on a lane until its Listener or Bus is closed, when
// it cuts the connections and returns ErrClosed. It fails at once where the
// configuration does.
func ServeCalls(l *Listener, cfg ServeConfig) error {
	if cfg.Handler == nil {
		return errors.New("bus: no handler of calls")
	}
	if err := cfg.Limits.Validate(); err != nil {
		return err
	}
	s := &server{cfg: cfg, conns: make(map[*Conn]struct{})}
	for {
		c, err := l.AcceptConn()
		if err != nil {
			s.close()
			return err
		}
		s.running.Go(func() { s.serve(c) })
	}
}

// server is one run of ServeCalls.
type server struct {
	cfg     ServeConfig
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	conns  map[*Conn]struct{}
}

func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	open := make([]*Conn, 0, len(s.conns))
	for c := range s.conns {
		open = append(open, c)
	}
	s.mu.Unlock()
	for _, c := range open {
		_ = c.Close()
	}
	s.running.Wait()
}

func (s *server) track(c *Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.conns[c] = struct{}{}
	}
	return !s.closed
}

func (s *server) untrack(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// serve answers the calls of one connection until it ends.
func (s *server) serve(c *Conn) {
	defer func() { _ = c.Close() }()
	if !s.track(c) {
		return
	}
	defer s.untrack(c)
	a := &answers{
		server: s,
		conn:   c,
		out:    newOutbox(c, s.cfg.Limits.MaxQueue, s.cfg.Limits.WriteTimeout),
	}
	err := a.out.pump(a.read)
	if s.cfg.Ended != nil {
		s.cfg.Ended(c.Peer(), err)
	}
}

// answers is one connection of a server.
type answers struct {
	server *server
	conn   *Conn
	out    *outbox
	open   atomic.Int64 // calls that were not answered yet
}

// read takes calls until the connection ends, or a Handler panics.
func (a *answers) read() error {
	frames := newFrameReader(a.conn, a.server.cfg.Limits.MaxFrame)
	for {
		f, err := frames.next()
		if err != nil {
			return err
		}
		reply := Reply{answers: a, id: f.id}
		if reply.Wanted() && a.open.Add(1) > int64(a.server.cfg.Limits.MaxCalls) {
			reply.Refuse(errCalls.Error())
			continue
		}
		if err := a.handle(f, reply); err != nil {
			return err
		}
	}
}

// errPanic ends the connection of a call whose Handler panicked.
var errPanic = errors.New("bus: a handler panicked")

func (a *answers) handle(f frame, reply Reply) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("%w at a call of kind %d: %v", errPanic, f.kind, value)
			if a.server.cfg.Panic != nil {
				a.server.cfg.Panic(a.conn.Peer(), f.kind, value, debug.Stack())
			}
		}
	}()
	a.server.cfg.Handler(a.conn, f.kind, f.payload, reply)
	return nil
}

// Reply answers one call, once, from any goroutine. What cannot be sent any
// more is dropped: the peer knows that its connection is gone.
type Reply struct {
	answers *answers
	id      uint32
}

// Wanted says whether somebody waits for the answer.
func (r Reply) Wanted() bool { return r.id != oneWay }

// Send answers with bytes. It does not keep them.
func (r Reply) Send(payload []byte) { r.finish(answerReply, payload, nil) }

// SendIf is Send, but c is asked right before the answer is written; where it
// does not hold, the peer is told that the outcome is unknown.
func (r Reply) SendIf(payload []byte, c Condition) { r.finish(answerReply, payload, c) }

// Refuse says that nothing was done, and why.
func (r Reply) Refuse(why string) { r.finish(answerRefused, []byte(why), nil) }

// Hold asks the peer to wait longer than it wanted: so long from now, in whole
// milliseconds, and no longer than it allows. The call stays to be answered.
func (r Reply) Hold(d time.Duration) {
	ms := min(max(d.Milliseconds(), 0), int64(^uint32(0)))
	r.add(answerHold, binary.BigEndian.AppendUint32(nil, uint32(ms)), nil)
}

func (r Reply) finish(kind byte, payload []byte, c Condition) {
	if r.Wanted() {
		r.answers.open.Add(-1)
	}
	r.add(kind, payload, c)
}

func (r Reply) add(kind byte, payload []byte, c Condition) {
	if !r.Wanted() {
		return
	}
	if most := r.answers.server.cfg.Limits.MaxFrame; len(payload) > most {
		kind, payload = answerWithdrawn, nil
	}
	if _, err := r.answers.out.add(frame{id: r.id, kind: kind, payload: payload}, c); err != nil {
		r.answers.out.end(err) // a peer that does not read; its calls end with the connection
	}
}
