package state

import (
	"math"

	"github.com/rlserver/rlserver/limit"
)

// entry is one key's bucket. There may be tens of millions, so it is exactly
// 48 bytes, one of the allocator's sizes: what only a few need is in ext.
// Every field but key is guarded by the slot's lock; key never changes.
type entry struct {
	key  string
	a, b int64  // limit.Bucket's A and B
	spec uint32 // id in the table of specs and the flags below, or goneSpec
	seen uint32 // the step of the last admission, see steps
	ext  *extra // nil for nearly all
}

// extra is what few entries have.
type extra struct {
	c    int64      // limit.Bucket's C
	log  *limit.Log // limit.Bucket's Log
	next *entry     // another key with the same 64-bit hash
}

// The flags of an entry stand in the bits of spec that no id needs.
const (
	policyFlag = 1 << 31 // it is a policy's bucket, none of RL.ALLOW's keys
	strictFlag = 1 << 30 // it must never be forgotten while it has debt
	flags      = policyFlag | strictFlag
	// Below them stand the collectors' marks, see changes.go.
)

// goneSpec marks an entry that was deleted. Nobody writes to it any more.
const goneSpec = math.MaxUint32

func (e *entry) gone() bool { return e.spec == goneSpec }

// policy says whether e is a policy's bucket.
func (e *entry) policy() bool { return e.spec&policyFlag != 0 }

// strict says whether e must not be forgotten while it has debt.
func (e *entry) strict() bool { return e.spec&strictFlag != 0 }

// is says whether e is what an address names; its hash is known to fit.
func (e *entry) is(at *address) bool {
	return e.spec&policyFlag == at.space && e.key == string(at.key)
}

// bucket is the entry's state in the form the algorithms take.
func (e *entry) bucket() limit.Bucket {
	b := limit.Bucket{A: e.a, B: e.b}
	if e.ext != nil {
		b.C, b.Log = e.ext.c, e.ext.log
	}
	return b
}

// put stores what an algorithm made of bucket().
func (e *entry) put(b *limit.Bucket) {
	e.a, e.b = b.A, b.B
	switch {
	case e.ext != nil:
		e.ext.c, e.ext.log = b.C, b.Log
	case b.C != 0 || b.Log != nil:
		e.ext = &extra{c: b.C, log: b.Log}
	}
	e.dropExtra()
}

// dropExtra lets go of an extra that holds nothing.
func (e *entry) dropExtra() {
	if e.ext != nil && *e.ext == (extra{}) {
		e.ext = nil
	}
}

// next is the next key of a chain of equal hashes, nil at its end.
func (e *entry) next() *entry {
	if e.ext == nil {
		return nil
	}
	return e.ext.next
}

// setNext links another key of the same hash behind e.
func (e *entry) setNext(n *entry) {
	if e.ext == nil {
		e.ext = &extra{}
	}
	e.ext.next = n
	e.dropExtra()
}

// What a bucket is charged for, in bytes of heap. DESIGN.md derives them, a
// test compares them with the heap.
const (
	entryBytes = 48  // the entry
	placeBytes = 32  // its 16 bytes in a tree's node and its shortcut, at their usual fill
	extraBytes = 24  // the extra
	specBytes  = 128 // a spec that no other bucket has
)

// keyBytes is what a key of n bytes takes: the room behind its entry or the
// allocator's next size. (Keys above 512 bytes are only roughly charged.)
func keyBytes(n int) int64 {
	step := 16
	if n > 256 {
		step = 32
	}
	return int64((n + step - 1) / step * step)
}

// stateBytes is what b takes beside A and B.
func stateBytes(b *limit.Bucket) int64 {
	if b.C == 0 && b.Log == nil {
		return 0
	}
	return extraBytes + b.Log.Bytes()
}

// newBytes is what a new entry for a key of n bytes with state b will take.
func newBytes(n int, b *limit.Bucket) int64 {
	return entryBytes + placeBytes + keyBytes(n) + stateBytes(b)
}

// bytes is what the entry takes. The link of a chain is not charged: with a
// keyed 64-bit hash there are none.
func (e *entry) bytes() int64 {
	b := e.bucket()
	return newBytes(len(e.key), &b)
}

// The time of the last admission is kept in steps of 2^28 ns, about 268 ms,
// modulo 2^32: it wraps after 36 years. A distance is read as between 4.5
// years back (a clock that was set back) and 32 years ahead.
const (
	stepShift = 28
	stepsBack = 1 << 29
)

func steps(now int64) uint32 { return uint32(now >> stepShift) }

// idle is the time since the last admission in nanoseconds, less at most two
// steps, never more than it was.
func (e *entry) idle(now int64) int64 {
	ahead := steps(now) - e.seen
	if ahead == 0 || ahead > math.MaxUint32-stepsBack {
		return 0
	}
	return int64(ahead-1) << stepShift
}
