package resp

import "sync/atomic"

// late is the commands of a batch whose replies were deferred.
type late struct {
	holes   []*hole // the first n, in the order of the commands; more are kept for later
	n       int
	awaited bool // the session waits for them
	left    atomic.Int32
	wake    func() // the driver's; for who makes left 0

	// What fill moves: the output and the decisions from the first hole on, as
	// they were, from where they were, and how much of them is back.
	out         []byte
	decided     []Decided
	base, first int
	outDone     int
	decidedDone int
}

// hole is where the reply of a deferred command belongs.
type hole struct {
	pending Pending
	src     source
	proto   int  // of the reply
	muted   bool // it is not sent
	at      int  // in the output
	mine    int  // its decisions, up to now, in those of the batch: from here
	end     int  // to here
	woken   atomic.Bool
	wake    func()
}

// What a session keeps for commands that will be deferred.
const (
	holeBytes    = 136 // with its function
	maxKeptHoles = 64 << 10 / holeBytes
)

// Defer says that the running command's reply comes later, and that commands
// behind it may run before it is there. The command returns without writing
// one. When the batch is over, p and all others are started, then finished in
// the order of their commands, as soon as all have woken; the replies of the
// batch leave together, in order. Finish of p sees a session that has run other
// commands: it may not change the protocol or which replies are sent. It may
// call Wait or Defer instead of writing the reply.
func (s *Session) Defer(p Pending) { s.put, s.pending = p, nil }

// Barrier says whether there are commands in this batch whose replies were
// deferred. What has to come after them calls AfterDeferred.
func (s *Session) Barrier() bool { return s.late != nil && s.late.n > 0 }

// AfterDeferred makes Command be called again with the running command, once
// all deferred replies are there. The command returns without writing a reply,
// and without having done anything.
func (s *Session) AfterDeferred() { s.Wait(again{}) }

// again is a command that runs once what was before it is answered.
type again struct{}

// Start is called when that is so.
func (again) Start(wake func()) { wake() }

// Finish runs the command, whose frame is still there.
func (again) Finish(s *Session, w *Writer, now int64) {
	args, _ := s.parse(s.frame(s.src)) // it was parsed before
	s.args = args[:0]
	s.handler.Command(s, w, args, now)
}

// leaveHole notes where the reply of the running command is to be.
func (s *Session) leaveHole() {
	if s.late == nil {
		s.late = &late{}
	}
	h := s.late.add()
	h.pending, s.put = s.put, nil
	h.src, h.proto, h.muted = s.src, s.out.proto, s.muted()
	h.at, h.mine, h.end = len(s.out.buf), s.mine, len(s.decided)
}

func (l *late) add() *hole {
	if l.n == len(l.holes) {
		h := &hole{}
		h.wake = func() {
			if h.woken.CompareAndSwap(false, true) && l.left.Add(-1) == 0 {
				l.wake()
			}
		}
		l.holes = append(l.holes, h)
	}
	l.n++
	return l.holes[l.n-1]
}

// isAwaited says whether Process was left to wait for deferred commands.
func (l *late) isAwaited() bool { return l != nil && l.awaited }

// startLate starts all deferred commands. Should one panic, those before it
// are still waited for; nothing behind them is left.
func (s *Session) startLate(wake func()) {
	l := s.late
	holes := l.holes[:l.n]
	l.wake = wake
	l.left.Store(int32(len(holes)))
	for _, h := range holes {
		h.woken.Store(false)
	}
	i := 0
	defer func() {
		if value := recover(); value != nil {
			s.stand(holes[i])
			s.from, s.mine = holes[i].at, holes[i].mine
			s.panicked(value)
			l.n = i
			for _, h := range holes[i:] {
				h.pending = nil
				h.wake()
			}
		}
	}()
	for ; i < len(holes); i++ {
		holes[i].pending.Start(holes[i].wake)
	}
}

// stand makes a deferred command the one that runs.
func (s *Session) stand(h *hole) {
	s.src, s.out.proto = h.src, h.proto
	s.Reply, s.skipping = ReplyOn, h.muted
}

// fill finishes the deferred commands, now that all have woken, and puts their
// replies where they belong. Output and decisions are written once more from
// the first hole on, so while a command is finished they end with what is
// before it, as if it ran only now; should it panic, nothing behind it is left.
func (s *Session) fill(now int64) {
	l := s.late
	l.awaited = false
	s.since = now // of a command that is not complete: nothing was read meanwhile
	holes := l.holes[:l.n]
	l.n = 0
	if len(holes) == 0 {
		return // one that could not be started was the first
	}
	src, proto, reply, skipping, waits := s.src, s.out.proto, s.Reply, s.skipping, s.pending
	own := len(s.decided) - s.mine
	s.pending = nil
	s.takeBack(holes[0].at, holes[0].mine)
	for i, h := range holes {
		s.putBack(h.at, h.mine)
		s.stand(h)
		s.from, s.mine = len(s.out.buf), len(s.decided)
		s.putBack(h.at, h.end)
		for k := s.mine; k < len(s.decided); k++ {
			s.decided[k].from = s.from // behind what the command wrote that is no reply
		}
		p := h.pending
		h.pending = nil
		p.Finish(s, &s.out, now)
		if s.pending != nil || s.put != nil {
			l.holes[i], l.holes[l.n] = l.holes[l.n], h // it waits once more
			s.putOff(h)
			continue
		}
		s.replied()
	}
	s.putBack(l.base+len(l.out), l.first+len(l.decided))
	s.src, s.out.proto, s.Reply, s.skipping, s.pending = src, proto, reply, skipping, waits
	s.mine = len(s.decided) - own
	l.trim()
}

// putOff keeps the hole of a command that waits once more.
func (s *Session) putOff(h *hole) {
	if h.pending = s.put; h.pending == nil {
		h.pending = s.pending
	}
	s.put, s.pending = nil, nil
	h.at, h.mine, h.end = len(s.out.buf), s.mine, len(s.decided)
	s.late.n++
}

// takeBack takes the output and the decisions from there on.
func (s *Session) takeBack(at, mine int) {
	l := s.late
	l.out = append(l.out[:0], s.out.buf[at:]...)
	l.decided = append(l.decided[:0], s.decided[mine:]...)
	l.base, l.outDone, l.first, l.decidedDone = at, at, mine, mine
	s.out.Truncate(at)
	s.decided = s.decided[:mine]
}

// putBack puts back what was before the given output and decision, in their
// places of then.
func (s *Session) putBack(at, mine int) {
	l := s.late
	moved := len(s.out.buf) - l.outDone
	s.out.Raw(l.out[l.outDone-l.base : at-l.base])
	for _, d := range l.decided[l.decidedDone-l.first : mine-l.first] {
		d.from += moved
		d.to += moved
		s.decided = append(s.decided, d)
	}
	l.outDone, l.decidedDone = at, mine
}

// trim gives back what only a large batch needed.
func (l *late) trim() {
	if cap(l.out) > maxKeptOutput {
		l.out = nil
	}
	if l.n == 0 && len(l.holes) > maxKeptHoles {
		clear(l.holes[maxKeptHoles:])
		l.holes = l.holes[:maxKeptHoles]
	}
}

// footprint is its memory, in bytes.
func (l *late) footprint() int {
	if l == nil {
		return 0
	}
	const decidedBytes = 72
	return cap(l.out) + cap(l.decided)*decidedBytes + len(l.holes)*holeBytes
}
