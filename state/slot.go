package state

import (
	"sync"

	"github.com/tidwall/btree"
)

const (
	// degree 64: the 61 keys that a slot holds of a million fit one node.
	degree = 64

	// A position in a slot is the top 39 bits of a hash, so that a slot and
	// a position make a cursor below 2^53, which every client's numbers hold.
	posBits  = 39
	posShift = 64 - posBits

	// walkBatch is how many entries are looked at in one hold of a slot's
	// lock: some microseconds, however many keys share one tag.
	walkBatch = 128
)

// slot is one hash slot: a lock and the tree of what it guards, ordered by
// the keys' hashes. Keys with the same hash are chained.
type slot struct {
	keys     int32 // in the tree, chained ones and policies' buckets included
	policies int32 // policies' buckets among them
	peak     int32 // most keys since the tree was last built anew
	mu       sync.Mutex
	number   uint16
	marked   Collector // who has to look at this slot
	whole    Collector // who has to forget what they know of it, and take all anew
	held     *Held     // whose requests alone are answered, nil for all
	lossAt   int64     // when counts of this slot were last lost, Unix nanoseconds; 0: never
	tree     btree.Map[uint64, *entry]
}

func newTree() btree.Map[uint64, *entry] { return *btree.NewMap[uint64, *entry](degree) }

// find returns the entry of an address in this slot, or nil.
func (sl *slot) find(at *address) *entry {
	e, _ := sl.tree.Get(at.hash)
	for e != nil && !e.is(at) {
		e = e.next()
	}
	return e
}

// insert adds e, whose key is not in the slot.
func (sl *slot) insert(h uint64, e *entry) {
	if head, chained := sl.tree.Set(h, e); chained {
		e.setNext(head)
	}
	sl.keys++
	if e.policy() {
		sl.policies++
	}
	sl.peak = max(sl.peak, sl.keys)
}

// remove takes e, which is in the slot, out of it.
func (sl *slot) remove(h uint64, e *entry) {
	switch head, _ := sl.tree.Get(h); {
	case head != e:
		for head.next() != e {
			head = head.next()
		}
		head.setNext(e.next())
	case e.next() != nil:
		sl.tree.Set(h, e.next())
	default:
		sl.tree.Delete(h)
	}
	sl.keys--
	if e.policy() {
		sl.policies--
	}
	sl.compact()
}

// compact builds a small tree anew when most of its keys are gone: a node
// never gives back the room it once had, and 2 KB in each of 16,384 slots
// would stay for the few keys that are left after a flood.
func (sl *slot) compact() {
	const small = 32 // keys; a rebuild takes about a microsecond
	if sl.keys > small || sl.peak <= 8 || sl.keys*4 > sl.peak {
		return
	}
	tree := newTree()
	sl.tree.Scan(func(h uint64, e *entry) bool {
		tree.Load(h, e)
		return true
	})
	sl.tree, sl.peak = tree, sl.keys
}

// walk visits entries from position pos on: about n of them, all of a
// position or none. It returns the position to go on from, and false at the
// slot's end. visit must not change the slot.
func (sl *slot) walk(pos uint64, n int, visit func(h uint64, e *entry)) (next uint64, more bool) {
	visited := 0
	sl.tree.Ascend(pos<<posShift, func(h uint64, e *entry) bool {
		if at := h >> posShift; visited >= n && at != pos {
			next, more = at, true
			return false
		}
		pos = h >> posShift
		for ; e != nil; e = e.next() {
			visit(h, e)
			visited++
		}
		return true
	})
	return next, more
}
