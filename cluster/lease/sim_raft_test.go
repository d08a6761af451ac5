package lease

import "slices"

// What the simulator has in place of Raft: entries are committed in one order,
// sooner, much later or never, whoever proposes them; nodes apply them when the
// leader reaches them; a node may believe that it leads long after it does not.

// canLead tells whether a node reaches a majority of the voters.
func (w *world) canLead(n *simNode) bool {
	voters := w.log.newest().voters
	if !n.up || n.paused > w.now || n.deaf > w.now || !slices.Contains(voters, n.id) {
		return false
	}
	reached := 0
	for _, id := range voters {
		if v := w.node(id); v == n || v.up && v.paused <= w.now && w.bothWays(n, v) {
			reached++
		}
	}
	return reached >= quorum(len(voters))
}

// elect replaces a leader that has not been able to lead for a while.
func (w *world) elect() {
	if w.leader != nil && w.canLead(w.leader) {
		w.leadBad = 0
		return
	}
	if w.leadBad == 0 {
		w.leadBad = w.now
	}
	if w.leader != nil && w.now-w.leadBad < w.between(500*ms, 1500*ms) {
		return
	}
	for _, i := range w.rng.Perm(len(w.nodes)) {
		if w.canLead(w.nodes[i]) {
			w.elected(w.nodes[i])
			return
		}
	}
}

// elected makes n the leader once it has applied what is committed. The last
// one learns of it later.
func (w *world) elected(n *simNode) {
	if old := w.leader; old != nil && old != n {
		process := old.process
		w.after(w.between(0, 5*second), func() {
			old.whenAwake(func() {
				if old.process == process && w.leader != old {
					old.leads = false
					old.node.Follow()
				}
			})
		})
	}
	w.leader, w.leadBad = n, 0
	process := n.process
	w.after(w.between(0, 100*ms), func() {
		n.whenAwake(func() {
			if n.process == process && w.leader == n && !n.leads {
				n.advance(w.log.last())
				n.leads = true
				n.node.Lead(n.clock())
				n.setTimer()
			}
		})
	})
}

// propose has an entry committed soon, late or not at all. Where the proposer
// does not reach a leader that can commit, it may still have been stored
// somewhere.
func (w *world) propose(n *simNode, e entry) {
	good := w.leader != nil && w.canLead(w.leader) && (n == w.leader || w.bothWays(n, w.leader))
	switch {
	case good && !w.chance(w.weather.late):
		w.after(w.between(ms/2, 15*ms), func() { w.commit(e) })
		if w.chance(0.03) {
			w.after(w.between(0, 4*second), func() { w.commit(e) })
		}
	case w.chance(0.5):
		w.after(w.between(0, 4*second), func() { w.commit(e) })
	}
}

func (w *world) commit(e entry) {
	if !w.log.commit(e) {
		return
	}
	switch e := e.(type) {
	case takeOverEntry:
		w.stats.takeOvers++
		if e.operator {
			w.stats.forced++
		}
	case registerEntry:
		w.stats.registrations++
	case votersEntry:
		w.stats.voterChanges++
		w.removed(e.set)
	case removeEntry:
		w.stats.removed++
	}
	for _, n := range w.nodes {
		if n.up && n.paused <= w.now {
			n.catchUp()
		}
	}
}

// removed cuts nodes that are no voters any more off the log, so that they do
// not even learn that. Later they are back, as those that only apply.
func (w *world) removed(set []NodeID) {
	for _, n := range w.nodes {
		before := w.log.states[w.log.last()-1].voters
		if slices.Contains(before, n.id) && !slices.Contains(set, n.id) && w.chance(0.7) {
			n.deaf = w.now + w.between(2*second, 15*second)
		}
	}
}

// catchUp asks for the log.
func (n *simNode) catchUp() {
	w := n.w
	if w.leader == nil || n.deaf > w.now || n != w.leader && !w.open(w.leader, n) {
		return
	}
	to, process := w.log.last(), n.process
	if to == n.applied {
		return
	}
	w.after(w.delay(), func() {
		n.whenAwake(func() {
			if n.process == process {
				n.advance(to)
			}
		})
	})
}

// lead is what a node that believes it leads does beside its leases: it gives
// slots away that nobody owns, and changes the voters towards the set wanted.
func (n *simNode) lead() {
	if !n.leads {
		return
	}
	n.assign()
	view := n.view()
	wanted := slices.DeleteFunc(slices.Clone(n.w.wanted), func(id NodeID) bool { return view.rows[id].removed })
	next := nextVoters(view.voters, wanted)
	n.node.WantChange(next != nil)
	if next != nil && len(n.node.ChangeBlockedBy()) == 0 {
		n.w.propose(n, votersEntry{from: view.votersIndex, set: next})
	}
}

// nextVoters is one change from a set towards another, nil if there is none.
func nextVoters(have, want []NodeID) []NodeID {
	for _, id := range want {
		if !slices.Contains(have, id) {
			return append(slices.Clone(have), id)
		}
	}
	for i, id := range have {
		if !slices.Contains(want, id) && len(have) > 1 {
			return slices.Delete(slices.Clone(have), i, i+1)
		}
	}
	return nil
}
