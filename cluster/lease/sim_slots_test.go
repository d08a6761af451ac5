package lease

import (
	"cmp"
	"slices"

	"github.com/rlserver/rlserver/limit"
)

// The slots' world: who owns what, what owners do with it, and the checkers of
// I1 and I2. Planned moves and replicas belong here.

// simSlots is how many slots there are; each has one strict key.
const simSlots = 4

// simFlight is the longest way of a reply from its check to the wire, by the
// node's clock.
const simFlight = 50 * ms

// simBucket is a node's bucket of a slot's key.
type simBucket struct {
	version uint64 // of the slot's ownership that it was counted under
	limit.Bucket
}

// admission is a unit that passed, at the true time at which it was taken.
type admission struct {
	at, cost int64
}

type slotWorld struct {
	w        *world
	spec     limit.Spec
	admitted [simSlots][]admission
}

func newSlotWorld(w *world) *slotWorld {
	return &slotWorld{w: w, spec: limit.Spec{Limit: 20, Window: second, Burst: 10}}
}

func (sw *slotWorld) begin() {
	for slot := range simSlots {
		sw.arrivals(slot)
	}
}

// slotsObserved gives the buckets of slots that have come to this node, or to
// this process, a loss instant: rule 6. Their key is strict, so it starts empty.
func (n *simNode) slotsObserved() {
	for slot, r := range n.view().slots {
		b := &n.buckets[slot]
		if r.owner != n.id || b.version == r.version {
			continue
		}
		*b = simBucket{version: r.version}
		if !n.w.mutant.startFull {
			b.Bucket = limit.Spent(n.w.slots.spec, n.clock())
		}
	}
}

// takeOver chooses the targets of a take-over.
func (n *simNode) takeOver(t TakeOver) takeOverEntry {
	m := n.w.mutant
	targets := slices.DeleteFunc(slices.Clone(n.view().registered), func(id NodeID) bool { return id == t.Node })
	n.w.rng.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
	return takeOverEntry{
		TakeOver: t, targets: targets,
		anyWitness: m.noWitnessEpoch, staleAccepted: m.noNodeEpoch,
	}
}

// assign proposes owners for slots that have none.
func (n *simNode) assign() {
	view := n.view()
	owners := make(map[int]NodeID)
	for slot, r := range view.slots {
		if r.owner == "" && len(view.registered) > 0 {
			owners[slot] = view.registered[n.w.rng.IntN(len(view.registered))]
		}
	}
	if len(owners) > 0 {
		n.w.propose(n, assignEntry{owners: owners})
	}
}

// owns tells whether the node's own state machine gives it the slot.
func (n *simNode) owns(slot int) bool { return n.up && n.view().slots[slot].owner == n.id }

// maySend tells whether replies of the slot may leave the node at this instant:
// those that a check has let pass are on the wire within simFlight.
func (n *simNode) maySend(slot int) bool {
	if !n.owns(slot) {
		return false
	}
	l := n.lease
	l.Until += simFlight
	return l.Valid(n.view(), n.id, n.clock())
}

// check is I1: at no instant may two nodes serve a slot. A node can begin to
// only at one of its own steps, so that looking after each sees every instant.
func (sw *slotWorld) check(n *simNode) {
	for slot := range simSlots {
		if n.maySend(slot) {
			sw.alone(n, slot)
		}
	}
}

func (sw *slotWorld) alone(n *simNode, slot int) {
	for _, other := range sw.w.nodes {
		if other != n && other.maySend(slot) {
			sw.w.fail("slot %d is served by %s (version %d) and %s (version %d)", slot,
				n.id, n.view().slots[slot].version, other.id, other.view().slots[slot].version)
		}
	}
}

// arrivals are requests for the slot's key, more than pass, at every node that
// believes it owns it.
func (sw *slotWorld) arrivals(slot int) {
	w := sw.w
	w.after(w.mean(40*ms), func() {
		for _, n := range w.nodes {
			if n.owns(slot) {
				n.whenAwake(func() { n.request(slot) })
			}
		}
		sw.arrivals(slot)
	})
}

// request takes units from the slot's bucket and sends the reply, each if the
// lease allows it at that moment.
func (n *simNode) request(slot int) {
	w, view, now := n.w, n.view(), n.clock()
	if !n.owns(slot) || !n.lease.Valid(view, n.id, now) {
		return
	}
	version, process := view.slots[slot].version, n.process
	cost := w.between(1, 5)
	d, _ := limit.Decide(w.slots.spec, w.slots.spec, &n.buckets[slot].Bucket, now, limit.Request{Cost: cost, AtMost: true})
	if d.Allowed == 0 {
		return
	}
	a := admission{at: w.now, cost: d.Allowed}
	if w.chance(0.001) { // the process stands still at the worst moment
		w.pause(n, w.between(500*ms, 3*second))
	}
	w.after(w.between(0, 2*ms), func() {
		n.whenAwake(func() {
			if n.process == process {
				n.reply(slot, version, a)
			}
		})
	})
}

// reply is the second check, and the way to the wire.
func (n *simNode) reply(slot int, version uint64, a admission) {
	w, view := n.w, n.view()
	good := view.slots[slot] == slotRow{owner: n.id, version: version} && n.lease.Valid(view, n.id, n.clock())
	if !good && !w.mutant.noSecondCheck {
		w.stats.dropped++
		return
	}
	w.stats.admitted++
	w.slots.admitted[slot] = append(w.slots.admitted[slot], a)
	w.slots.alone(n, slot)
}

// audit is I2: all that passed, in true time, goes through one bucket whose
// rate is that of the fastest clock. Its debt is in units of 1/rate ns, where
// rate is the limit times a million and rho; the slack is that of clocks that
// are read in whole nanoseconds.
func (sw *slotWorld) audit() {
	const slack = 1000
	rate := sw.spec.Limit * (1_000_000 + sw.w.rho)
	for slot, all := range sw.admitted {
		slices.SortStableFunc(all, func(a, b admission) int { return cmp.Compare(a.at, b.at) })
		var debt, at int64
		for _, a := range all {
			debt = max(0, debt-(a.at-at)*(rate/1000)) + a.cost*sw.spec.Window*1000
			at = a.at
			if debt > sw.spec.Burst*sw.spec.Window*1000+slack*(rate/1000) {
				sw.w.now = a.at
				sw.w.fail("slot %d: more passed than one bucket admits", slot)
				return
			}
		}
	}
}
