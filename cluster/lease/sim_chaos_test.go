package lease

import "slices"

// story is what happens in a run.
type story int

const (
	anyStory story = iota // which one, the seed tells
	chaosStory
	squeezeStory
	votersStory
)

func chosenStory(eighth int) story {
	return [8]story{votersStory, squeezeStory, squeezeStory, chaosStory, chaosStory, chaosStory, chaosStory, chaosStory}[eighth]
}

func (s story) tell(w *world) {
	switch s {
	case squeezeStory:
		w.weather.everyMean = 5 * second
		w.chaos()
		w.squeeze()
	case votersStory:
		w.rule7()
	default:
		w.chaos()
	}
}

// chaos has a fault happen now and then.
func (w *world) chaos() {
	w.after(w.mean(w.weather.everyMean), func() {
		w.fault(w.nodes[w.rng.IntN(len(w.nodes))])
		w.chaos()
	})
}

// squeeze is one fault after the other where they hurt: somebody, x, is cut off
// from the leader and most voters for long, and from one voter, p, until that
// one starts anew and knows of nothing.
func (w *world) squeeze() {
	w.after(w.between(2*second, 6*second), w.squeeze)
	voters := w.log.newest().voters
	x, p := w.node(voters[w.rng.IntN(len(voters))]), w.node(voters[w.rng.IntN(len(voters))])
	if w.leader == nil || x == w.leader || p == w.leader || p == x {
		return
	}
	w.stats.cuts++
	long := w.between(3*second, 7*second)
	w.cut(x, w.leader, long)
	w.cut(w.leader, x, long)
	until := w.between(300*ms, 2500*ms)
	if w.chance(0.6) {
		w.cut(x, p, until)
	}
	for _, n := range w.nodes {
		if n != p && w.chance(0.5) {
			w.cut(x, n, w.between(until, long))
			w.cut(n, x, w.between(until, long))
		}
	}
	if w.chance(0.5) {
		late := w.weather.late
		w.weather.late = 0.8
		w.after(until, func() { w.weather.late = late })
	}
	w.after(until, func() {
		if p.up && w.chance(0.9) {
			w.stats.crashes++
			p.crash()
			w.after(w.between(0, 100*ms), p.start)
		}
	})
}

func (w *world) fault(n *simNode) {
	other := w.nodes[w.rng.IntN(len(w.nodes))]
	switch w.rng.IntN(20) {
	case 0, 1, 2, 3:
		w.crash(n)
	case 4, 5, 6:
		w.pause(n, w.between(50*ms, 3*second))
	case 7, 8, 9:
		w.stats.cuts++
		w.cut(n, other, w.between(200*ms, 6*second))
	case 10, 11:
		w.isolate(n, w.between(200*ms, 6*second), true, true)
	case 12:
		w.isolate(n, w.between(200*ms, 6*second), true, false)
	case 13:
		w.isolate(n, w.between(200*ms, 6*second), false, true)
	case 14:
		if w.canLead(n) {
			w.elected(n)
		}
	case 15, 16:
		n.setRate()
	case 17, 18:
		w.wish(n.id)
	case 19:
		if view := w.log.newest(); w.chance(0.2) && len(view.registered) > 3 {
			w.propose(n, removeEntry{node: n.id})
		}
	}
}

// crash ends a process, and starts one later, at times much later: then an
// operator may say that the node is off.
func (w *world) crash(n *simNode) {
	if !n.up {
		return
	}
	w.stats.crashes++
	epoch := w.log.newest().Epoch(n.id)
	n.crash()
	if w.chance(0.1) && w.leader != nil && epoch != 0 {
		t := w.leader.takeOver(TakeOver{Node: n.id, Epoch: epoch})
		t.operator = true
		w.propose(w.leader, t)
	}
	down := w.between(0, 300*ms)
	if w.chance(0.5) {
		down = w.between(0, 6*second)
	}
	w.after(down, n.start)
}

func (w *world) pause(n *simNode, d int64) {
	if n.up {
		w.stats.pauses++
		n.paused = max(n.paused, w.now+d)
	}
}

// isolate closes all ways out of a node, into it, or both.
func (w *world) isolate(n *simNode, d int64, out, in bool) {
	w.stats.cuts++
	for _, other := range w.nodes {
		if out {
			w.cut(n, other, d)
		}
		if in {
			w.cut(other, n, d)
		}
	}
}

// wish wants a node to become a voter, or to be none.
func (w *world) wish(id NodeID) {
	if i := slices.Index(w.wanted, id); i < 0 {
		w.wanted = append(slices.Clone(w.wanted), id)
	} else if len(w.wanted) > 1 {
		w.wanted = slices.Delete(slices.Clone(w.wanted), i, i+1)
	}
}

// rule7 is the case that changes of voters are fenced for: of three voters one
// is cut off from all but another; a fourth is added, then that other removed.
func (w *world) rule7() {
	for len(w.nodes) < 4 {
		w.nodes = append(w.nodes, &simNode{w: w, index: len(w.nodes), id: "node-3"})
		n := w.nodes[len(w.nodes)-1]
		w.after(0, n.start)
	}
	w.cuts = nil
	for range w.nodes {
		w.cuts = append(w.cuts, make([]int64, len(w.nodes)))
	}
	w.weather.drop, w.weather.tail, w.weather.late = 0, 0, 0
	first := []NodeID{w.nodes[0].id, w.nodes[1].id, w.nodes[2].id}
	w.wanted = first
	order := w.rng.Perm(3)
	a, b, c, d := w.nodes[order[0]], w.nodes[order[1]], w.nodes[order[2]], w.nodes[3]
	w.after(8*second, func() {
		for _, n := range w.nodes {
			if n != c {
				w.cut(a, n, 20*second)
				w.cut(n, a, 20*second)
			}
		}
		w.elected(b)
		w.wanted = []NodeID{a.id, b.id, c.id, d.id}
	})
	w.after(w.between(10*second, 12*second), func() { w.wanted = []NodeID{a.id, b.id, d.id} })
	w.after(35*second, w.chaos)
}
