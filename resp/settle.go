package resp

// Decided is a decision made in this batch.
type Decided struct {
	Slot    uint16
	Version uint64
	Lost    bool // set by Settle: it no longer holds

	proto    int // of the reply
	src      source
	from, to int // the reply, in the output
}

// Decided notes that the running command acted on a slot it owned under a
// version. The session keeps it until the reply leaves.
func (s *Session) Decided(slot uint16, version uint64) {
	s.decided = append(s.decided, Decided{Slot: slot, Version: version, proto: s.out.proto, src: s.src, from: s.from})
}

// forgetDecided drops the decisions of a command whose reply is cut.
func (s *Session) forgetDecided() { s.decided = s.decided[:s.mine] }

// settle makes the replies of the batch good, and lets them leave, once those
// that were deferred are there. Decisions of a command that waits are kept
// until it has replied.
func (s *Session) settle(now int64, status Status) Status {
	if s.Barrier() {
		s.late.awaited = true
		return StatusWait
	}
	n := len(s.decided)
	if status == StatusWait {
		n = s.mine
	}
	if n > 0 {
		waits := s.src
		s.src, s.from, s.mine = source{}, s.settled, 0 // a panic cuts the whole batch
		s.handler.Settle(s, s.decided[:n])
		s.replaceLost(s.decided[:n], now)
		s.decided = s.decided[:copy(s.decided, s.decided[n:])]
		s.src = waits
	}
	s.batch = 0
	s.settled = len(s.out.buf)
	if status != StatusWait {
		s.tx.settle()
	}
	return status
}

// replaceLost rewrites the output from the first lost reply on.
func (s *Session) replaceLost(decided []Decided, now int64) {
	var rest []byte // the output behind base, as it was
	base, done := 0, 0
	proto := s.out.proto
	for i := range decided {
		d := &decided[i]
		if !d.Lost || d.from < done {
			continue
		}
		if rest == nil {
			base, done = d.from, d.from
			rest = append(rest, s.out.buf[base:]...)
			s.out.Truncate(base)
		}
		s.out.Raw(rest[done-base : d.from-base])
		s.src, s.out.proto = d.src, d.proto
		args, _ := s.parse(s.frame(d.src)) // it was parsed before
		s.handler.Replace(s, &s.out, args, now)
		done = d.to
	}
	if rest != nil {
		s.out.Raw(rest[done-base:])
	}
	s.out.proto = proto
}
