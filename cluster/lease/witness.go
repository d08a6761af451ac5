package lease

// witness is the part of a node that promises and withdraws, as a voter:
// rules 2 and 4. It is as old as its process: what an earlier process promised
// is covered by the wait after the start, and what that one withdrew from by
// the epoch that its testimonies carry.
type witness struct {
	cfg       Config
	start     int64             // when the process started
	bound     map[NodeID]int64  // until then it does not witness against the node, whatever its epoch
	withdrawn map[NodeID]uint64 // the epoch it has withdrawn from, and from all before
}

func newWitness(cfg Config, now int64) witness {
	return witness{
		cfg:       cfg,
		start:     now,
		bound:     make(map[NodeID]int64),
		withdrawn: make(map[NodeID]uint64),
	}
}

// requested answers a request. The caller has checked that this node is
// registered in view.
func (w *witness) requested(now int64, from NodeID, r Request, view Replicated, f *faults) Answer {
	a := Answer{Epoch: r.Epoch, Sent: r.Sent}
	withdrawn, ok := w.withdrawn[from]
	switch {
	case view.Applied() < r.Epoch:
		a.Verdict = Behind
	case view.Epoch(from) != r.Epoch,
		ok && withdrawn >= r.Epoch && !f.forgetWithdrawal,
		r.Lease > view.Lease(from): // after a crash nobody would wait for so long a promise
		a.Verdict = Refused
	default:
		a.Verdict = Promised
		w.bound[from] = max(w.bound[from], now+w.stretch(r.Lease, f))
	}
	return a
}

// polled withdraws from a suspect if it may, and tells whether it has. The
// caller has checked that this node is registered in view. A view that has not
// applied the suspect's registration is no ground: the suspect may have
// registered with a longer lease than any in the view.
func (w *witness) polled(now int64, s Suspect, view Replicated, f *faults) bool {
	longest := w.stretch(view.LongestLease(), f)
	switch {
	case view.Epoch(s.Node) != s.Epoch || s.Epoch == 0:
		return false
	case s.Node == w.cfg.Self: // it lives
		return false
	case now < w.bound[s.Node]:
		return false
	case now-w.start <= longest && !f.noStartWait:
		return false
	}
	w.withdrawn[s.Node] = s.Epoch
	return true
}

// observe forgets what can no longer matter: a registration that is over in the
// view is refused for that alone.
func (w *witness) observe(now int64, view Replicated) {
	for node, epoch := range w.withdrawn {
		if view.Applied() >= epoch && view.Epoch(node) != epoch {
			delete(w.withdrawn, node)
		}
	}
	for node, end := range w.bound {
		if end <= now {
			delete(w.bound, node)
		}
	}
}

func (w *witness) stretch(d int64, f *faults) int64 {
	if f.noDriftFactor {
		return d
	}
	return w.cfg.Stretch(d)
}
