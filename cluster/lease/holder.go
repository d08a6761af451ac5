package lease

import "slices"

// holder is the part of a node that registers, collects promises and counts
// them: rules 1, 2 and 3.
type holder struct {
	cfg Config

	epoch  uint64 // this process' registration in the view, 0: none
	nonce  Nonce  // of the newest registration, in the view or proposed
	voters uint64 // the newest set of voters it has counted by

	promised map[NodeID]int64 // voter -> end of its longest promise to epoch
	nextAsk  int64            // promises are asked for from then on
	register bool             // a registration under nonce is wanted
	nextReg  int64            // it is proposed from then on
}

// newHolder is a holder of a process that starts now; start is random.
func newHolder(cfg Config, start uint64, now int64) holder {
	return holder{
		cfg:      cfg,
		nonce:    Nonce{Start: start, Count: 1},
		promised: make(map[NodeID]int64),
		nextAsk:  now,
		register: true,
		nextReg:  now,
	}
}

// observe takes in a view. What was promised to another epoch is forgotten;
// what a voter promised stays good whichever set of voters it is counted in.
func (h *holder) observe(now int64, view Replicated, f *faults) {
	shown, epoch := view.Nonce(h.cfg.Self), view.Epoch(h.cfg.Self)
	if shown.Start != h.nonce.Start && !f.anyProcess {
		epoch = 0 // of an earlier process, which promised and withdrew what this one does not know
	}
	switch {
	case shown == h.nonce && epoch != 0:
		h.register = false
	case shown == h.nonce: // taken over: a nonce counts once
		h.renew(now)
	case epoch == 0 && h.epoch != 0: // taken over by an older entry that came late
		h.renew(now)
	}
	if epoch != h.epoch {
		h.epoch = epoch
		clear(h.promised)
		h.nextAsk = now
	}
	if index := view.VotersIndex(); index > h.voters {
		h.voters = index
		h.nextAsk = now
	}
}

// renew wants a registration under a new nonce.
func (h *holder) renew(now int64) {
	h.nonce.Count++
	h.register = true
	h.nextReg = now
}

// counts tells whether promises count in view: the node is registered, and the
// view's set of voters is not older than one it has already counted by.
func (h *holder) counts(view Replicated) bool {
	return view != nil && h.epoch != 0 && view.VotersIndex() >= h.voters
}

// tick asks what is due.
func (h *holder) tick(now int64, view Replicated, out *Output) {
	if h.register && now >= h.nextReg {
		out.Register = &Register{Nonce: h.nonce, Lease: h.cfg.Lease}
		h.nextReg = now + h.cfg.Lease
	}
	if now < h.nextAsk {
		return
	}
	h.nextAsk = now + h.cfg.Tick
	if !h.counts(view) {
		return
	}
	request := Request{Epoch: h.epoch, Sent: now, Lease: h.cfg.Lease, Voters: view.VotersIndex()}
	for _, voter := range view.Voters() {
		out.send(voter, request)
	}
}

// answered takes in a voter's answer. One that is refused registers anew, but
// goes on with the promises it has: they are as good as before.
func (h *holder) answered(now int64, from NodeID, a Answer, f *faults) {
	if h.epoch == 0 || a.Epoch != h.epoch || a.Sent > now {
		return
	}
	switch a.Verdict {
	case Promised:
		from0 := a.Sent
		if f.countFromReceipt {
			from0 = now
		}
		h.promised[from] = max(h.promised[from], from0+h.cfg.Lease)
	case Refused:
		if !h.register {
			h.renew(now)
		}
	case Behind: // the next tick asks again
	}
}

// lease counts the promises.
func (h *holder) lease(view Replicated) Lease {
	if !h.counts(view) {
		return Lease{}
	}
	l := Lease{Epoch: h.epoch, Voters: view.VotersIndex()}
	voters := view.Voters()
	if len(voters) == 1 && voters[0] == h.cfg.Self {
		l.Sole = true
		return l
	}
	ends := make([]int64, 0, len(voters))
	for _, voter := range voters {
		if end, ok := h.promised[voter]; ok {
			ends = append(ends, end)
		}
	}
	need := quorum(len(voters))
	if len(ends) < need || len(voters) == 0 {
		return Lease{}
	}
	slices.Sort(ends)
	l.Until = ends[len(ends)-need] - h.cfg.Guard
	return l
}

// due is the next instant at which tick has something to do.
func (h *holder) due() int64 {
	if h.register {
		return min(h.nextAsk, h.nextReg)
	}
	return h.nextAsk
}
