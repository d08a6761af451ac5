package cluster

import (
	"context"
	"slices"
	"time"

	"github.com/rlserver/rlserver/raftfsm"
)

// slots is how many there are.
const slots = raftfsm.Slots

// Owner is a node that counts a slot.
type Owner struct {
	ID      string // empty: nobody does
	Name    string
	Addr    string // host:port for Redis clients
	Version uint64 // of the slot
}

// Serve returns the version under which this node owns a slot, and whether it
// may decide for it now. It is cheap, and may be wrong for an instant in which
// the process stood still: Holds, asked before the reply leaves, is not.
func (n *Node) Serve(slot uint16) (version uint64, ok bool) {
	l := n.leases.Load()
	if l == nil {
		return 0, false
	}
	s := l.now.Load()
	owner, version := s.view.view.OwnerNumber(slot)
	return version, s.held && s.self != 0 && owner == s.self && l.ready[slot].Load() == version && l.moving[slot].Load() == open
}

// MayAnswer says whether the node holds its lease at this moment, by a clock
// that counts also while the machine sleeps. Before replies leave it is asked
// first, then Holds for each of their slots.
func (n *Node) MayAnswer() bool {
	l := n.leases.Load()
	if l == nil {
		return false
	}
	s := l.now.Load()
	return s.lease.Valid(s.view, l.cfg.Self, n.cfg.Boottime())
}

// Holds reports whether the node still owns a slot under a version.
func (n *Node) Holds(slot uint16, version uint64) bool {
	l := n.leases.Load()
	if l == nil {
		return false
	}
	s := l.now.Load()
	owner, now := s.view.view.OwnerNumber(slot)
	return s.self != 0 && owner == s.self && now == version && l.moving[slot].Load() != frozen
}

// Owner tells who counts a slot.
func (n *Node) Owner(slot uint16) Owner {
	view := n.raft.View()
	s := view.Slot(slot)
	o := Owner{ID: s.Owner, Version: s.Version}
	if m, is := view.Member(s.Owner); is {
		o.Name, o.Addr = m.Name, m.Addr
	}
	return o
}

// SlotRange is neighbouring slots with the same owner and version.
type SlotRange struct {
	First, Last uint16
	Owner       Owner
}

// Slots lists all slots.
func (n *Node) Slots() (all []SlotRange) {
	view := n.raft.View()
	var last raftfsm.Slot
	for slot := range uint16(raftfsm.Slots) {
		s := view.Slot(slot)
		if slot > 0 && s == last {
			all[len(all)-1].Last = slot
			continue
		}
		m, _ := view.Member(s.Owner)
		all = append(all, SlotRange{slot, slot, Owner{s.Owner, m.Name, m.Addr, s.Version}})
		last = s
	}
	return all
}

// Owned counts the slots of a member.
func (n *Node) Owned(id string) int { return n.raft.View().Owned(id) }

// assigning is what a leader knows of slots without owners.
type assigning struct {
	up    []string // the members that were up when it looked last
	since time.Time
}

// assignAfter is how long the members of a cluster that was founded together
// must stay the same before the slots are shared among them: those that start
// together shall all have a share at once. Whoever comes later gets it by moves.
const assignAfter = time.Second

// assign gives slots that nobody owns to members that are up, if this node
// leads.
func (n *Node) assign() {
	if !n.cfg.Shared || n.bus == nil || !n.raft.Leading() {
		return
	}
	view := n.raft.View()
	free := freeSlots(view)
	var up []string
	for _, m := range view.Members() { // by name
		if m.Epoch != 0 {
			up = append(up, m.ID)
		}
	}
	now := n.cfg.Now()
	if !slices.Equal(up, n.shares.up) {
		n.shares = assigning{up, now}
	}
	if len(free) == 0 || len(up) == 0 {
		return
	}
	if len(free) == raftfsm.Slots && len(up) < n.cfg.Voters && !n.cfg.Bus.Found && now.Sub(n.shares.since) < n.times(assignAfter) {
		return
	}
	ctx, cancel := context.WithTimeout(n.ctx, n.times(serveTimeout))
	defer cancel()
	for _, c := range share(view, free, up) {
		if _, err := n.raft.Propose(ctx, c); err != nil {
			n.cfg.Log.Warn("slots that nobody owns could not be assigned; it is tried again", "err", err)
			return
		}
	}
	n.cfg.Log.Info("slots were assigned", "slots", len(free), "nodes", len(up))
}

func freeSlots(view *raftfsm.View) (free []uint16) {
	for slot := range uint16(raftfsm.Slots) {
		if number, _ := view.OwnerNumber(slot); number == 0 {
			free = append(free, slot)
		}
	}
	return free
}

// share shares free slots among nodes such that afterwards no two nodes' counts
// differ by more than they must. Neighbours stay together.
func share(view *raftfsm.View, free []uint16, nodes []string) (all []raftfsm.Assign) {
	counts := make([]int, len(nodes))
	for i, id := range nodes {
		counts[i] = view.Owned(id)
	}
	gets := make([]int, len(nodes))
	for range free {
		least := 0
		for i := range nodes {
			if counts[i]+gets[i] < counts[least]+gets[least] {
				least = i
			}
		}
		gets[least]++
	}
	for i, id := range nodes {
		if gets[i] == 0 {
			continue
		}
		c := raftfsm.Assign{Owner: id}
		for _, slot := range free[:gets[i]] {
			if k := len(c.Slots); k > 0 && c.Slots[k-1].Last+1 == slot {
				c.Slots[k-1].Last = slot
			} else {
				c.Slots = append(c.Slots, raftfsm.Range{First: slot, Last: slot})
			}
		}
		free = free[gets[i]:]
		all = append(all, c)
	}
	return all
}
