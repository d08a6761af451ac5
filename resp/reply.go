package resp

// ReplyMode says which replies are sent: CLIENT REPLY.
type ReplyMode int

// The modes.
const (
	ReplyOn   ReplyMode = iota
	ReplyOff            // none, until it is on again
	ReplySkip           // not the next one, then ReplyOn; what sets it writes none itself
)

// muted says whether the running command is not answered.
func (s *Session) muted() bool { return s.Reply == ReplyOff || s.skipping }

// Unmute sends replies again, from the running command's on.
func (s *Session) Unmute() { s.Reply, s.skipping = ReplyOn, false }

// finished ends the command that runs, unless it waits.
func (s *Session) finished() {
	if s.pending != nil {
		return
	}
	if s.put != nil {
		s.leaveHole()
	} else {
		s.replied()
	}
	if s.tx.running {
		return // EXEC and its transaction are one command
	}
	if s.src.queued && s.Barrier() {
		s.EndBatch() // what follows EXEC comes after all of it
	}
	if s.skipping = s.Reply == ReplySkip; s.skipping {
		s.Reply = ReplyOn
	}
}

// replied ends the reply of the running command: it is cut if it is not to be
// sent, else its decisions learn where it is.
func (s *Session) replied() {
	if s.muted() {
		s.out.Truncate(s.from)
		s.forgetDecided()
	}
	for i := s.mine; i < len(s.decided); i++ {
		s.decided[i].to = len(s.out.buf)
	}
}
