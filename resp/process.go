package resp

import (
	"runtime/debug"

	"github.com/tidwall/redcon"
)

// NewSession returns a session with its handler's Open called.
func NewSession(peer ClientInfo, h Handler, lim *Limits, events *Events) *Session {
	s := &Session{handler: h, lim: lim, events: events}
	s.client.info = peer
	h.Open(s)
	return s
}

// Process runs commands until the input is exhausted, a bound is reached, a
// command waits, or the session ends. now is the one time all of them see, in
// Unix nanoseconds.
func (s *Session) Process(now int64) (status Status) {
	defer func() {
		if value := recover(); value != nil {
			status = s.panicked(value, now)
		}
	}()
	if p := s.pending; p != nil {
		s.pending = nil
		p.Finish(s, &s.out, now)
		s.finished()
	}
	for !s.closing {
		if s.batch >= s.lim.MaxBatch || len(s.out.buf) >= s.lim.MaxOutput {
			return s.settle(now, StatusFlush)
		}
		if !s.step(now) {
			return s.settle(now, StatusRead)
		}
		if s.pending != nil {
			return s.settle(now, StatusWait)
		}
	}
	return s.settle(now, StatusClose)
}

// step runs the next command, of a transaction or of the input; false if
// there is none yet.
func (s *Session) step(now int64) bool {
	if s.tx.running {
		from, to := s.tx.pop()
		s.run(source{queued: true, from: from, to: to}, now)
		return true
	}
	for {
		n, kind, err := s.frames.next(s.in.unread(), s.lim, s.Authenticated)
		if err != nil {
			s.out.Error(err.Error())
			s.closing = true
			return true
		}
		from := s.in.r
		s.in.r += n
		switch kind {
		case frameNone:
			return false
		case frameEmpty:
			continue
		}
		s.run(source{from: from, to: s.in.r}, now)
		return true
	}
}

// source says where the bytes of a command are: in the input, or in the
// transaction's queue. They stay there until the batch is settled.
type source struct {
	queued   bool
	from, to int
}

func (s *Session) frame(src source) []byte {
	if src.queued {
		return s.tx.frames[src.from:src.to]
	}
	return s.in.buf[src.from:src.to]
}

// parse returns the words of a frame; false where quotes do not match.
func (s *Session) parse(frame []byte) (args [][]byte, ok bool) {
	if frame[0] != '*' {
		return splitInline(frame, s.args[:0])
	}
	ok, args, _, _, err := redcon.ReadNextCommand(frame, s.args[:0])
	return args, ok && err == nil
}

func (s *Session) run(src source, now int64) {
	args, ok := s.parse(s.frame(src))
	if !ok {
		s.out.Error(protocolError("unbalanced quotes in request").Error())
		s.closing = true
		return
	}
	s.args = args[:0]
	if len(args) == 0 {
		return
	}
	if forged(args[0]) {
		s.closing = true
		return
	}
	s.src, s.from = src, len(s.out.buf)
	s.batch++
	s.handler.Command(s, &s.out, args, now)
	if s.pending == nil {
		s.finished()
	}
}

// finished ends the command that runs: its reply is cut if CLIENT REPLY says
// so, else its decisions learn where it is.
func (s *Session) finished() {
	if s.reply(); len(s.out.buf) == s.from {
		for len(s.decided) > 0 && s.decided[len(s.decided)-1].from == s.from {
			s.decided = s.decided[:len(s.decided)-1]
		}
		return
	}
	for i := len(s.decided) - 1; i >= 0 && s.decided[i].from == s.from; i-- {
		s.decided[i].to = len(s.out.buf)
	}
}

func (s *Session) reply() {
	switch s.Reply {
	case ReplyOn:
		return
	case ReplySkip:
		s.Reply = replySkipping
	case replySkipping:
		s.Reply = ReplyOn
	}
	s.out.Truncate(s.from)
}

// Decided is a decision made in this batch.
type Decided struct {
	Slot    uint16
	Version uint64
	Lost    bool // set by Settle: it no longer holds

	src      source
	from, to int // the reply, in the output
}

// Decided notes that the running command acted on a slot it owned under a
// version. The session keeps it until the reply leaves.
func (s *Session) Decided(slot uint16, version uint64) {
	s.decided = append(s.decided, Decided{Slot: slot, Version: version, src: s.src, from: s.from})
}

// settle makes the replies of the batch good, and lets them leave.
func (s *Session) settle(now int64, status Status) Status {
	if len(s.decided) > 0 {
		s.handler.Settle(s, s.decided)
		s.replaceLost(now)
		s.decided = s.decided[:0]
	}
	s.batch = 0
	s.settled = len(s.out.buf)
	s.tx.settle()
	return status
}

// replaceLost rewrites the output from the first lost reply on.
func (s *Session) replaceLost(now int64) {
	var rest []byte // the output from base on, as it was
	base, next := 0, 0
	for i := range s.decided {
		d := &s.decided[i]
		if !d.Lost || rest != nil && d.from < next {
			continue
		}
		if rest == nil {
			base, next = d.from, d.from
			rest = append(rest, s.out.buf[base:]...)
			s.out.Truncate(base)
		}
		s.out.Raw(rest[next-base : d.from-base])
		args, _ := s.parse(s.frame(d.src))
		s.handler.Replace(s, &s.out, args, now)
		next = d.to
	}
	if rest != nil {
		s.out.Raw(rest[next-base:])
	}
}

// panicked answers for a handler that failed. Nothing of what it had begun to
// write, and nothing of what it said, leaves; replies before it do.
func (s *Session) panicked(value any, now int64) Status {
	if s.events != nil && s.events.Panic != nil {
		s.events.Panic(value, debug.Stack())
	}
	if s.closing { // the second failure: of settling the first
		s.out.Truncate(s.settled)
		return StatusClose
	}
	s.out.Truncate(s.from)
	for len(s.decided) > 0 && s.decided[len(s.decided)-1].from == s.from {
		s.decided = s.decided[:len(s.decided)-1]
	}
	s.out.Error("ERR internal error")
	s.pending, s.closing = nil, true
	s.tx.open, s.tx.running = false, false
	return s.Process(now)
}

// Wait says that the running command's reply takes time. The command returns
// without writing one.
func (s *Session) Wait(p Pending) { s.pending = p }

// Start begins the work a session waits for; after wake, Process goes on.
func (s *Session) Start(wake func()) { s.pending.Start(wake) }

// Close ends the session once the running command is answered.
func (s *Session) Close() { s.closing = true }

// forged recognises HTTP sent to this port by a browser that was tricked.
func forged(name []byte) bool {
	return equalFold(name, "post") || equalFold(name, "host:")
}

func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
