package raftfsm

import (
	"fmt"
	"slices"

	buckets "github.com/rlserver/rlserver/state" // a state is something else here
)

// Slots is the number of hash slots.
const Slots = buckets.Slots

// Slot says who counts a slot.
type Slot struct {
	Owner   string // a node's id; empty: nobody
	Version uint64 // the log index of the last change
	// Counts is the version whose counts the owner has, all of them: it was sent
	// them, or had them. 0: nobody counted the slot before. Lost: others did, and
	// their counts are lost.
	Counts uint64
}

// Lost is no version: see Slot.
const Lost = ^uint64(0)

// slotTable is who counts which slot. It is replaced, not changed. Owners are
// kept as numbers, so that a copy costs 160 KiB and not a megabyte.
type slotTable struct {
	nodes    []string // ids; those that own nothing may be among them
	owners   [Slots]uint16
	versions [Slots]uint64
	counts   [Slots]uint64
}

// nobody is the number of the owner of a slot without one; others are those of
// nodes, plus 1.
const nobody = 0

func (t *slotTable) slot(slot uint16) Slot {
	s := Slot{Version: t.versions[slot], Counts: t.counts[slot]}
	if owner := t.owners[slot]; owner != nobody {
		s.Owner = t.nodes[owner-1]
	}
	return s
}

// number finds the number of a node; 0, nobody, if it is in no slot.
func (t *slotTable) number(id string) uint16 {
	return uint16(slices.Index(t.nodes, id) + 1)
}

// owned counts the slots of a node.
func (t *slotTable) owned(id string) (n int) {
	number := t.number(id)
	if number == nobody {
		return 0
	}
	for _, owner := range t.owners {
		if owner == number {
			n++
		}
	}
	return n
}

// give makes a node the owner of a slot. It is for changeSlots' copy.
func (t *slotTable) give(slot uint16, id string, version, counts uint64) {
	number := t.number(id)
	if number == nobody && id != "" {
		t.nodes = append(t.nodes, id)
		number = uint16(len(t.nodes))
	}
	t.owners[slot], t.versions[slot], t.counts[slot] = number, version, counts
}

// changeSlots makes the copy that may be changed. Nodes that own nothing are
// left out of it.
func (s *state) changeSlots() *slotTable {
	next := &slotTable{}
	for slot, owner := range s.slots.owners {
		if owner != nobody {
			next.give(uint16(slot), s.slots.nodes[owner-1], 0, 0)
		}
	}
	next.versions, next.counts = s.slots.versions, s.slots.counts
	s.slots = next
	return next
}

// Slot says who counts a slot.
func (v *View) Slot(slot uint16) Slot { return v.slots.slot(slot) }

// NodeNumber is what stands for a node in OwnerNumber; 0: it owns nothing.
func (v *View) NodeNumber(id string) uint16 { return v.slots.number(id) }

// OwnerNumber is the number of a slot's owner in this view, 0 if it has none,
// and the slot's version. It does not allocate.
func (v *View) OwnerNumber(slot uint16) (number uint16, version uint64) {
	return v.slots.owners[slot], v.slots.versions[slot]
}

// SameSlots says whether no slot has changed between the views.
func (v *View) SameSlots(other *View) bool { return v.slots == other.slots }

// Counts is a slot's, see Slot. It does not allocate.
func (v *View) Counts(slot uint16) uint64 { return v.slots.counts[slot] }

// Owned counts the slots of a node.
func (v *View) Owned(id string) int { return v.slots.owned(id) }

// Range is some neighbouring slots, both ends included.
type Range struct{ First, Last uint16 }

// Assign gives slots that nobody owns to a member that is up.
type Assign struct {
	Owner string // id
	Slots []Range
}

func (Assign) kind() Type    { return TypeAssign }
func (Assign) version() byte { return 1 }
func (c Assign) append(b []byte) []byte {
	b = appendNumber(appendText(b, c.Owner), uint64(len(c.Slots)))
	for _, r := range c.Slots {
		b = appendNumber(appendNumber(b, uint64(r.First)), uint64(r.Last))
	}
	return b
}

func readAssign(d *decoder) Assign {
	c := Assign{Owner: readID(d)}
	for range d.count() {
		c.Slots = append(c.Slots, Range{readSlot(d), readSlot(d)})
	}
	return c
}

func readSlot(d *decoder) uint16 {
	n := d.number()
	if n >= Slots {
		d.fail(fmt.Errorf("slot %d does not exist", n))
		return 0
	}
	return uint16(n)
}

func (c Assign) apply(s *state, index uint64) Result {
	if m, is := s.members[c.Owner]; !is || m.Epoch == 0 {
		return refuse("node %s is no member, or is down", c.Owner)
	}
	given := 0
	slots := s.changeSlots()
	for _, r := range c.Slots {
		for slot := int(r.First); slot <= int(r.Last); slot++ {
			if slots.owners[slot] == nobody {
				counts := Lost
				if slots.versions[slot] == 0 {
					counts = 0
				}
				slots.give(uint16(slot), c.Owner, index, counts)
				given++
			}
		}
	}
	return Result{Version: index, Existed: given > 0}
}

// Witness is a voter that will not promise to an epoch again, and its own epoch
// when it said so.
type Witness struct {
	ID    string
	Epoch uint64
}

// TakeOver ends the epoch of a node, and gives its slots to the targets that
// are up, evenly; without one they are nobody's.
type TakeOver struct {
	Node      string // id
	Epoch     uint64
	Targets   []string // ids, in the order of preference
	Witnesses []Witness
	Forced    bool // an operator's word is the evidence: the node is off
}

func (TakeOver) kind() Type    { return TypeTakeOver }
func (TakeOver) version() byte { return 1 }
func (c TakeOver) append(b []byte) []byte {
	b = appendNumber(appendText(b, c.Node), c.Epoch)
	b = appendNumber(b, uint64(len(c.Targets)))
	for _, id := range c.Targets {
		b = appendText(b, id)
	}
	b = appendNumber(b, uint64(len(c.Witnesses)))
	for _, w := range c.Witnesses {
		b = appendNumber(appendText(b, w.ID), w.Epoch)
	}
	return appendBool(b, c.Forced)
}

func readTakeOver(d *decoder) TakeOver {
	c := TakeOver{Node: readID(d), Epoch: d.number()}
	for range d.count() {
		c.Targets = append(c.Targets, readID(d))
	}
	for range d.count() {
		c.Witnesses = append(c.Witnesses, Witness{readID(d), d.number()})
	}
	c.Forced = d.bool()
	return c
}

// apply is rule 5: the epoch still holds, and a majority of those who vote now
// are witnesses with the epochs that they have now.
func (c TakeOver) apply(s *state, index uint64) Result {
	m, is := s.members[c.Node]
	if !is || m.Epoch == 0 || m.Epoch != c.Epoch {
		return refuse("node %s has not the epoch %d", c.Node, c.Epoch)
	}
	witnesses := map[string]bool{}
	for _, w := range c.Witnesses {
		_, votes := slices.BinarySearch(s.voters, w.ID)
		if votes && w.Epoch != 0 && s.members[w.ID].Epoch == w.Epoch {
			witnesses[w.ID] = true
		}
	}
	if need := len(s.voters)/2 + 1; len(witnesses) < need && !c.Forced {
		return refuse("%d of the voters bear witness, %d must", len(witnesses), need)
	}
	m.Epoch = 0
	s.changeMembers()[m.ID] = m
	var targets []string
	for _, id := range c.Targets {
		if t, is := s.members[id]; is && t.Epoch != 0 && !slices.Contains(targets, id) {
			targets = append(targets, id)
		}
	}
	s.spread(c.Node, targets, index)
	return Result{Version: index}
}

// spread gives the slots of a node to others, each to the one that then has the
// fewest; of those with as many to the first.
func (s *state) spread(from string, targets []string, index uint64) {
	if s.slots.owned(from) == 0 {
		return
	}
	slots := s.changeSlots()
	number := slots.number(from)
	has := make([]int, len(targets))
	for i, id := range targets {
		has[i] = slots.owned(id)
	}
	for slot := range uint16(Slots) {
		if slots.owners[slot] != number {
			continue
		}
		if len(targets) == 0 {
			slots.give(slot, "", index, Lost)
			continue
		}
		least := 0
		for i := range has {
			if has[i] < has[least] {
				least = i
			}
		}
		slots.give(slot, targets[least], index, Lost)
		has[least]++
	}
}

// SlotVersion is a slot, and the version that it must have.
type SlotVersion struct {
	Slot    uint16
	Version uint64
}

// Move makes another node the owner of slots whose counts it has.
type Move struct {
	From      string // id
	FromEpoch uint64
	To        string // id
	ToEpoch   uint64
	Slots     []SlotVersion
}

func (Move) kind() Type    { return TypeMove }
func (Move) version() byte { return 1 }
func (c Move) append(b []byte) []byte {
	b = appendNumber(appendText(b, c.From), c.FromEpoch)
	b = appendNumber(appendText(b, c.To), c.ToEpoch)
	return appendSlots(b, c.Slots)
}

func readMove(d *decoder) Move {
	return Move{From: readID(d), FromEpoch: d.number(), To: readID(d), ToEpoch: d.number(), Slots: readSlots(d)}
}

func appendSlots(b []byte, all []SlotVersion) []byte {
	b = appendNumber(b, uint64(len(all)))
	for _, s := range all {
		b = appendNumber(appendNumber(b, uint64(s.Slot)), s.Version)
	}
	return b
}

func readSlots(d *decoder) (all []SlotVersion) {
	for range d.count() {
		all = append(all, SlotVersion{readSlot(d), d.number()})
	}
	return all
}

// apply moves all or nothing.
func (c Move) apply(s *state, index uint64) Result {
	if to := s.members[c.To]; to.Epoch == 0 || to.Epoch != c.ToEpoch {
		return refuse("node %s has not the epoch %d", c.To, c.ToEpoch)
	}
	return s.reown(c.From, c.FromEpoch, c.To, c.Slots, index)
}

// AbortMove ends a move that was not made: the slots stay with their owner
// under new versions, so that a Move that comes late is void.
type AbortMove struct {
	From      string // id
	FromEpoch uint64
	Slots     []SlotVersion
}

func (AbortMove) kind() Type    { return TypeAbortMove }
func (AbortMove) version() byte { return 1 }
func (c AbortMove) append(b []byte) []byte {
	return appendSlots(appendNumber(appendText(b, c.From), c.FromEpoch), c.Slots)
}

func readAbortMove(d *decoder) AbortMove {
	return AbortMove{From: readID(d), FromEpoch: d.number(), Slots: readSlots(d)}
}

func (c AbortMove) apply(s *state, index uint64) Result {
	return s.reown(c.From, c.FromEpoch, c.From, c.Slots, index)
}

// reown gives slots of a node that still has its epoch to a node, if all have
// the versions that are named.
func (s *state) reown(from string, epoch uint64, to string, all []SlotVersion, index uint64) Result {
	if m := s.members[from]; m.Epoch == 0 || m.Epoch != epoch {
		return refuse("node %s has not the epoch %d", from, epoch)
	}
	for _, sv := range all {
		if now := s.slots.slot(sv.Slot); now.Owner != from || now.Version != sv.Version {
			return refuse("slot %d is not node %s's any more under version %d", sv.Slot, from, sv.Version)
		}
	}
	slots := s.changeSlots()
	for _, sv := range all {
		slots.give(sv.Slot, to, index, sv.Version)
	}
	return Result{Version: index}
}

// appendSlotTable appends the table as runs of slots alike.
func appendSlotTable(b []byte, t *slotTable) []byte {
	var runs []byte
	n := uint64(0)
	for first := 0; first < Slots; {
		last := first
		for last+1 < Slots && t.slot(uint16(last+1)) == t.slot(uint16(first)) {
			last++
		}
		slot := t.slot(uint16(first))
		runs = appendNumber(appendText(appendNumber(runs, uint64(last)), slot.Owner), slot.Version)
		runs = appendNumber(runs, slot.Counts)
		n++
		first = last + 1
	}
	return append(appendNumber(b, n), runs...)
}

func readSlotTable(d *decoder) *slotTable {
	t := &slotTable{}
	first := 0
	for range d.count() {
		last, owner, version, counts := readSlot(d), d.text(), d.number(), d.number()
		if d.err == nil && (int(last) < first || owner != "" && !isID(owner)) {
			d.fail(fmt.Errorf("slots %d to %d of %q", first, last, owner))
		}
		if d.err != nil {
			return t
		}
		for slot := first; slot <= int(last); slot++ {
			t.give(uint16(slot), owner, version, counts)
		}
		first = int(last) + 1
	}
	if d.err == nil && first != Slots {
		d.fail(fmt.Errorf("%d slots", first))
	}
	return t
}
