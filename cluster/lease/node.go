package lease

// Node is a node's part in all leases: it holds its own, is a witness for
// others, and takes over while it leads the log. It is not safe for concurrent
// use; the Leases it returns are.
type Node struct {
	cfg     Config
	view    Replicated
	holder  holder
	witness witness
	leader  *leader          // nil: does not lead
	heard   map[NodeID]int64 // when a node's last request came
	reports reports
	change  bool // a change of voters is wanted
	faults  faults
}

// faults switches single clauses of the rules off, for the tests that show that
// the simulator notices. Nothing but tests sets it.
type faults struct {
	countFromReceipt bool // a promise counts from when it arrived
	noStartWait      bool // a voter withdraws though it may have forgotten a promise
	forgetWithdrawal bool // a voter promises after it has withdrawn
	noDriftFactor    bool // lengths are not stretched by the clocks' rates
	noWitnessEpoch   bool // evidence outlives the registration it was signed with
	noReport         bool // voters change without the nodes' reports
	anyProcess       bool // a registration by an earlier process counts as one's own
}

// New is the Node of a process that starts at now. start is random and new with
// each start. cfg must be valid.
func New(cfg Config, start uint64, now int64) *Node {
	return &Node{
		cfg:     cfg,
		holder:  newHolder(cfg, start, now),
		witness: newWitness(cfg, now),
		heard:   make(map[NodeID]int64),
		reports: make(reports),
	}
}

// Observe takes in what the state machine shows. It is to be called after each
// entry that registers, removes or takes over a node or changes the voters, and
// once after the start. Views never go back.
func (n *Node) Observe(now int64, view Replicated) Output {
	n.view = view
	n.holder.observe(now, view, &n.faults)
	n.witness.observe(now, view)
	n.reports.observe(view)
	for node := range n.heard {
		if view.Epoch(node) == 0 {
			delete(n.heard, node)
		}
	}
	if n.leader != nil {
		n.leader.observe(view)
	}
	return n.Tick(now)
}

// Lead tells that this node was elected, and has applied all that was committed
// before. Follow ends it.
func (n *Node) Lead(now int64) { n.leader = newLeader(n.cfg, now) }

// Follow tells that this node does not lead.
func (n *Node) Follow() { n.leader = nil }

// Due is the instant from which Tick has something to do. It may be late
// without harm to anything but the lease's margin.
func (n *Node) Due() int64 {
	due := n.holder.due()
	if n.leader != nil {
		due = min(due, n.leader.nextPoll)
	}
	return due
}

// Tick does what is due.
func (n *Node) Tick(now int64) Output {
	var out Output
	n.holder.tick(now, n.view, &out)
	if n.leader != nil && now >= n.leader.nextPoll {
		n.poll(now, &out)
	}
	return n.finish(now, out)
}

// Receive takes in a message. from is who sent it, as the connection knows; now
// was read after it had arrived.
func (n *Node) Receive(now int64, from NodeID, m Message) Output {
	var out Output
	n.receive(now, from, m, &out)
	return n.finish(now, out)
}

// Lease is the present one.
func (n *Node) Lease() Lease { return n.holder.lease(n.view) }

// WantChange tells a leader that a change of voters is wanted, or no longer: it
// polls for reports meanwhile.
func (n *Node) WantChange(wanted bool) { n.change = wanted }

// ChangeBlockedBy are the nodes that have not reported yet that they count by
// the present set of voters. A change of voters may be proposed only by a
// leader for which there are none, one change at a time, and only against the
// set of the view that was observed last.
func (n *Node) ChangeBlockedBy() []NodeID {
	if n.view == nil || n.faults.noReport {
		return nil
	}
	return n.reports.missing(n.view)
}

// finish hands messages to this node itself over without sending them, and
// counts the promises.
func (n *Node) finish(now int64, out Output) Output {
	for i := 0; i < len(out.Send); i++ {
		if e := out.Send[i]; e.To == n.cfg.Self {
			out.Send = append(out.Send[:i], out.Send[i+1:]...)
			i--
			n.receive(now, e.To, e.Message, &out)
		}
	}
	out.Lease = n.Lease()
	return out
}

func (n *Node) receive(now int64, from NodeID, m Message, out *Output) {
	switch m := m.(type) {
	case Request:
		n.request(now, from, m, out)
	case Answer:
		n.holder.answered(now, from, m, &n.faults)
	case Poll:
		n.polled(now, from, m, out)
	case Testimony:
		for _, r := range m.Reports {
			n.reports.add(r)
		}
		if n.leader != nil && n.view != nil {
			n.leader.testified(now, from, m, n.view, &n.faults, out)
		}
	}
}

// request is a voter's side of a promise. A node that has not applied its own
// registration promises nothing: a testimony by an earlier process of its could
// still be in force.
func (n *Node) request(now int64, from NodeID, r Request, out *Output) {
	n.heard[from] = now
	n.reports.add(Report{Node: from, Epoch: r.Epoch, Voters: r.Voters})
	if n.holder.epoch == 0 {
		return
	}
	out.send(from, n.witness.requested(now, from, r, n.view, &n.faults))
}

// polled is a voter's side of a poll.
func (n *Node) polled(now int64, from NodeID, p Poll, out *Output) {
	if n.view == nil {
		return
	}
	t := Testimony{Epoch: n.holder.epoch, Reports: n.reports.list(n.view)}
	if t.Epoch != 0 {
		for _, s := range p.Suspects {
			if n.witness.polled(now, s, n.view, &n.faults) {
				t.Withdrawn = append(t.Withdrawn, s)
			}
		}
	}
	out.send(from, t)
}

// poll asks all voters, if there is something to ask.
func (n *Node) poll(now int64, out *Output) {
	n.leader.nextPoll = now + n.cfg.Poll
	if n.view == nil {
		return
	}
	p := Poll{Suspects: n.leader.suspects(now, n.view, n.heard)}
	if len(p.Suspects) == 0 && !n.change {
		return
	}
	for _, voter := range n.view.Voters() {
		out.send(voter, p)
	}
}
