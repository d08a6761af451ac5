package lease

// leader is the part of a node that polls and takes over while the node leads
// the log: rules 4 and 5. Whatever it believes, it cannot harm: its evidence is
// checked where it is applied.
type leader struct {
	cfg      Config
	since    int64 // when it was elected
	nextPoll int64
	cases    map[NodeID]*accusation
}

// accusation is what is held against one registration.
type accusation struct {
	epoch    uint64
	by       map[NodeID]uint64 // voter -> its epoch when it had withdrawn
	nextTry  int64             // a take-over is proposed from then on
	proposed bool
}

func newLeader(cfg Config, now int64) *leader {
	return &leader{cfg: cfg, since: now, nextPoll: now, cases: make(map[NodeID]*accusation)}
}

// suspects are the registrations of which no request was heard for 0.6 of
// their leases. A leader counts from its election at the earliest.
func (l *leader) suspects(now int64, view Replicated, heard map[NodeID]int64) []Suspect {
	var out []Suspect
	for _, node := range view.Registered() {
		last := l.since
		if at, ok := heard[node]; ok {
			last = max(last, at)
		}
		if now-last > view.Lease(node)*6/10 && len(out) < MaxList {
			out = append(out, Suspect{Node: node, Epoch: view.Epoch(node)})
		}
	}
	return out
}

// testified takes in what a voter has withdrawn from.
func (l *leader) testified(now int64, from NodeID, t Testimony, view Replicated, f *faults, out *Output) {
	if t.Epoch == 0 {
		return
	}
	for _, s := range t.Withdrawn {
		if s.Epoch == 0 || view.Epoch(s.Node) != s.Epoch {
			continue
		}
		c := l.cases[s.Node]
		if c == nil || c.epoch != s.Epoch {
			c = &accusation{epoch: s.Epoch, by: make(map[NodeID]uint64)}
			l.cases[s.Node] = c
		}
		c.by[from] = t.Epoch
		l.propose(now, s.Node, c, view, f, out)
	}
}

// propose asks for a take-over if the evidence holds in view, again after a
// lease if that had no effect.
func (l *leader) propose(now int64, node NodeID, c *accusation, view Replicated, f *faults, out *Output) {
	if c.proposed && now < c.nextTry {
		return
	}
	voters := view.Voters()
	var witnesses []Witness
	for _, voter := range voters {
		if epoch := c.by[voter]; epoch != 0 && (epoch == view.Epoch(voter) || f.noWitnessEpoch) {
			witnesses = append(witnesses, Witness{Node: voter, Epoch: epoch})
		}
	}
	if len(voters) == 0 || len(witnesses) < quorum(len(voters)) {
		return
	}
	c.proposed, c.nextTry = true, now+l.cfg.Lease
	out.TakeOvers = append(out.TakeOvers, TakeOver{Node: node, Epoch: c.epoch, Witnesses: witnesses})
}

// observe drops the cases that are closed.
func (l *leader) observe(view Replicated) {
	for node, c := range l.cases {
		if view.Epoch(node) != c.epoch {
			delete(l.cases, node)
		}
	}
}
