package resp

import (
	"runtime/debug"

	"github.com/tidwall/redcon"
)

// Process runs commands until the input is exhausted, a bound is reached, a
// command waits, or the session ends. now is the one time all of them see, in
// Unix nanoseconds.
func (s *Session) Process(now int64) Status {
	for {
		status, ok := s.guarded(now)
		s.EndIsolation()
		if ok {
			return status
		}
	}
}

// guarded is process; not ok if it panicked, which is answered then.
func (s *Session) guarded(now int64) (status Status, ok bool) {
	defer func() {
		if value := recover(); value != nil {
			s.panicked(value)
		}
	}()
	return s.process(now), true
}

func (s *Session) process(now int64) Status {
	switch {
	case s.late.isAwaited():
		s.fill(now)
	case s.pending != nil:
		s.resume(now)
	}
	for {
		switch {
		case s.pending != nil:
			return s.settle(now, StatusWait)
		case s.closing && !s.tx.running:
			return s.settle(now, StatusClose)
		case s.batch >= s.lim.MaxBatch || len(s.out.buf)-s.sent >= s.maxOutput():
			return s.settle(now, StatusFlush)
		case !s.step(now):
			return s.settle(now, StatusRead)
		}
	}
}

// maxOutput is how many bytes of replies may wait until they leave.
func (s *Session) maxOutput() int {
	if s.Authenticated {
		return s.lim.MaxOutput
	}
	return min(s.lim.MaxOutput, maxOutputStranger)
}

// resume ends the command that waited.
func (s *Session) resume(now int64) {
	s.replyHere()
	p := s.pending
	s.pending = nil
	p.Finish(s, &s.out, now)
	s.finished()
}

// replyHere begins the reply of the command that waited where the output ends
// now: what was before it may have left meanwhile. Only its own decisions are
// still kept.
func (s *Session) replyHere() {
	s.from = len(s.out.buf)
	for i := range s.decided {
		s.decided[i].from = s.from
	}
}

// step runs the next command, of a transaction or of the input; false if
// there is none yet.
func (s *Session) step(now int64) bool {
	s.from, s.mine = len(s.out.buf), len(s.decided)
	if s.tx.running {
		s.run(s.tx.pop(), now)
		return true
	}
	s.EndIsolation()
	for {
		n, empty, err := s.frames.next(s.in.unread(), s.lim, s.Authenticated)
		if err != nil {
			s.fail(err, err.Error())
			return true
		}
		if n == 0 {
			if s.Incomplete() && !s.partial {
				s.partial, s.since = true, now
			}
			return false
		}
		src := source{from: s.in.r, to: s.in.r + n}
		s.in.r, s.partial = src.to, false
		if !empty {
			s.run(src, now)
			return true
		}
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

// parse returns the words of a frame: none if it is an empty line.
func (s *Session) parse(frame []byte) ([][]byte, error) {
	if frame[0] != '*' {
		return splitInline(frame, s.args[:0], s.lim, s.Authenticated)
	}
	_, args, _, _, err := redcon.ReadNextCommand(frame, s.args[:0])
	return args, err
}

func (s *Session) run(src source, now int64) {
	args, err := s.parse(s.frame(src))
	if err != nil {
		s.fail(err, err.Error())
		return
	}
	s.args = args[:0]
	if len(args) == 0 {
		return
	}
	if forged(args[0]) {
		s.fail(ErrForged, "")
		return
	}
	s.src = src
	s.batch++
	s.handler.Command(s, &s.out, args, now)
	s.finished()
}

// fail ends the session with an error line, unless text is empty.
func (s *Session) fail(why error, text string) {
	s.closing, s.why = true, why
	if text != "" && !s.muted() {
		s.out.Error(text)
	}
}

// panicked answers for a handler that failed. Nothing of what it had begun to
// write, and nothing of what it said, leaves; replies before it do.
func (s *Session) panicked(value any) {
	failed := ""
	if s.src != (source{}) {
		if args, err := s.parse(s.frame(s.src)); err == nil && len(args) > 0 {
			failed = string(args[0])
		}
	}
	s.Describe(func(info *ClientInfo) { info.Failed = failed })
	if s.events != nil && s.events.Panic != nil {
		s.events.Panic(value, debug.Stack())
	}
	s.out.Truncate(s.from)
	s.forgetDecided()
	s.pending, s.put = nil, nil
	s.tx.open, s.tx.running = false, false
	s.client.queued.Store(0)
	s.fail(ErrPanic, errInternal)
}

// forged recognises HTTP.
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
