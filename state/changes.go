package state

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// Collector is one who gathers what changed, from time to time. Each has a mark
// of its own on every bucket and takes off only that.
type Collector uint8

// The collectors. Config says which of them there are.
const (
	ForDisk Collector = 1 << iota
	ForReplica
)

const (
	collectorCount = 2
	anyCollector   = ForDisk | ForReplica

	// The marks stand in an entry's spec, above the id.
	markShift = 24
	marks     = uint32(anyCollector) << markShift
)

func (w Collector) mark() uint32 { return uint32(w) << markShift }

// changed says whether e has a collector's mark.
func (e *entry) changed(w Collector) bool { return e.spec&w.mark() != 0 }

// marked is the collectors whose mark e has.
func (e *entry) marked() Collector { return Collector(e.spec>>markShift) & anyCollector }

// changes is what collectors find beside the marks on entries.
type changes struct {
	slots [collectorCount][Slots / 64]atomic.Uint64 // which slots to look at

	mu    sync.Mutex // taken alone or inside a slot's lock
	gone  map[uint16][]goneKey
	bytes int64 // what gone takes, about
}

// goneKey is a key that was deleted and of which some are still to be told.
type goneKey struct {
	key    string
	policy bool
	tell   Collector
}

// maxGone bounds what is kept of deleted keys, in bytes, until all were told.
const maxGone = 16 << 20

func (k *goneKey) bytes() int64 { return int64(len(k.key)) + 96 }

// Collects says whether changes are kept for a collector.
func (s *Store) Collects(w Collector) bool { return s.collect&w == w }

// mark notes for collectors that e changed. Its slot is locked.
func (s *Store) mark(sl *slot, e *entry, who Collector) {
	e.spec |= who.mark()
	if sl.marked&who != who {
		s.markSlot(sl, who)
	}
}

// markSlot has collectors look at a slot, which is locked.
func (s *Store) markSlot(sl *slot, who Collector) {
	sl.marked |= who
	for i := range collectorCount {
		if who&(1<<i) != 0 {
			s.changes.slots[i][sl.number/64].Or(1 << (sl.number % 64))
		}
	}
}

// markWhole has collectors forget what they know of a slot and take all anew.
func (s *Store) markWhole(sl *slot, who Collector) {
	if who == 0 {
		return
	}
	sl.mu.Lock()
	defer sl.mu.Unlock()
	sl.whole |= who
	s.markSlot(sl, who)
}

// unmark takes a collector's mark off a slot, which is locked. news: it was
// there; whole: all is to be taken anew.
func (s *Store) unmark(sl *slot, w Collector) (news, whole bool) {
	news, whole = sl.marked&w != 0, sl.whole&w != 0
	sl.whole &^= w
	sl.marked &^= w
	s.changes.slots[bits.TrailingZeros8(uint8(w))][sl.number/64].And(^uint64(1 << (sl.number % 64)))
	return news, whole
}

// ChangedSlots visits the slots in which something changed since Changed was
// last called for them. It takes no lock.
func (s *Store) ChangedSlots(w Collector, visit func(slot uint16)) {
	words := &s.changes.slots[bits.TrailingZeros8(uint8(w))]
	for i := range words {
		for word := words[i].Load(); word != 0; word &= word - 1 {
			visit(uint16(i*64 + bits.TrailingZeros64(word)))
		}
	}
}

// Whether a key's deletion has to be told. One that is evicted need not be,
// when there are too many: who still knows it has it as it was, which admits
// nothing more.
const (
	mustTell = true
	mayTell  = false
)

// forget deletes an entry of a slot whose lock the caller holds, and has
// collectors told.
func (s *Store) forget(sl *slot, h uint64, e *entry, tell Collector, must bool) {
	if tell != 0 {
		s.tellGone(sl, e, tell, must)
		e.spec &^= marks
	}
	s.drop(sl, h, e)
}

// tellGone has collectors told that an entry's key is gone.
func (s *Store) tellGone(sl *slot, e *entry, tell Collector, must bool) {
	told := s.changes.add(sl.number, goneKey{key: e.key, policy: e.policy(), tell: tell})
	if !told && !must {
		return
	}
	if !told {
		sl.whole |= tell
	}
	s.markSlot(sl, tell)
}

// add keeps a key until all were told, if there is room.
func (c *changes) add(slot uint16, k goneKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bytes+k.bytes() > maxGone {
		return false
	}
	if c.gone == nil {
		c.gone = map[uint16][]goneKey{}
	}
	c.gone[slot] = append(c.gone[slot], k)
	c.bytes += k.bytes()
	return true
}

// take moves the keys that a collector is to be told of into a batch. The slot
// is locked.
func (c *changes) take(slot uint16, w Collector, b *batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := c.gone[slot]
	if len(keys) == 0 {
		return
	}
	left := keys[:0]
	for _, k := range keys {
		if k.tell&w != 0 {
			b.records = append(b.records, Record{Key: b.copied(k.key), Policy: k.policy, Gone: true})
		}
		if k.tell &^= w; k.tell != 0 {
			left = append(left, k)
		} else {
			c.bytes -= k.bytes()
		}
	}
	clear(keys[len(left):])
	if c.gone[slot] = left; len(left) == 0 {
		delete(c.gone, slot)
	}
}
