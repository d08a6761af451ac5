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

// finished ends the command that runs, unless it waits: its reply is cut if
// it is not to be sent, else its decisions learn where it is.
func (s *Session) finished() {
	if s.pending != nil {
		return
	}
	if s.muted() {
		s.out.Truncate(s.from)
		s.forgetDecided()
	}
	for i := len(s.decided) - 1; i >= 0 && s.decided[i].from == s.from; i-- {
		s.decided[i].to = len(s.out.buf)
	}
	if s.tx.running {
		return // EXEC and its transaction are one command
	}
	if s.skipping = s.Reply == ReplySkip; s.skipping {
		s.Reply = ReplyOn
	}
}
