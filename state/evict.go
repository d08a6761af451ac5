package state

import (
	"math/bits"
	"sync/atomic"

	"github.com/rlserver/rlserver/limit"
)

// When a new state does not fit, room is made for it by deleting what is
// full, which has no effect on any decision, else the bucket of a few sampled
// that forgets least: the least share of its capacity, for the least time. So
// a flood of new keys displaces itself and not the keys that are being limited.
//
// Neither alone will do. By time alone a log that is spent goes before newer
// ones of a unit each, since its last admission is older, and any rule of a
// day beats every rule of a minute. By share alone what is full in a moment
// may stay for what will take a day.

const (
	sampleKeys    = 16 // entries that are compared
	samplePerSlot = 4  // of them from one slot
	lookPerSlot   = 64 // entries that are looked at for them: strict ones may be in the way
)

// asker is the request for which room is made: its bucket is not evicted.
type asker struct {
	slot *slot
	hash uint64
}

// candidate is an entry that may be evicted.
type candidate struct {
	slot    *slot
	hash    uint64
	entry   *entry
	forgets int64 // see forgets
}

// forgets is how much the deletion of e would forget: the share of its
// capacity that is in use, times the nanoseconds until it is full. 0: nothing.
func (s *Store) forgets(e *entry, now int64) int64 {
	b, spec := e.bucket(), *s.specs.at(e.spec)
	fullIn := limit.FullIn(spec, &b, now)
	if fullIn == 0 {
		return 0
	}
	used := spec.Capacity() - limit.Remaining(spec, &b, now) // 1 to the capacity
	high, low := bits.Mul64(uint64(used), uint64(fullIn))
	share, _ := bits.Div64(high, low, uint64(spec.Capacity()))
	return max(int64(share), 1)
}

// makeRoom reserves n bytes, evicting until they fit. It reports false, and
// has reserved nothing, when nothing is left to evict. No slot's lock may be
// held.
func (s *Store) makeRoom(n, now int64, by asker) bool {
	for !s.memory.reserve(n) {
		if !s.evict(now, by) {
			return false
		}
	}
	return true
}

// grow accounts what a bucket that is in use grew by, and makes room after
// the fact: how much it grows is known only when it has. No slot's lock may
// be held.
func (s *Store) grow(n, now int64, by asker) {
	s.memory.settle(n)
	for n > 0 && s.memory.over() > 0 && s.evict(now, by) {
	}
}

// evict deletes at least one bucket, unless another goroutine is at it, and
// reports false when there is none.
func (s *Store) evict(now int64, by asker) bool {
	var best candidate
	sampled := 0
	sample := func(sl *slot) (freed bool) {
		n, full := s.sample(sl, now, by, &best)
		sampled += n
		return full > 0
	}
	// The asker's own slot is always among those sampled: many keys behind
	// one tag would otherwise hide in one slot of 16,384 and displace all
	// others.
	if by.slot != nil && sample(by.slot) {
		return true
	}
	start := s.rand()
	for i := uint64(0); i < Slots && sampled < sampleKeys; i++ {
		if sample(&s.slots[(start+i)%Slots]) {
			return true
		}
	}
	if sampled == 0 {
		return false
	}
	s.evictCandidate(best, now)
	return true
}

// sample looks at some entries of a slot, from a random position on. It
// deletes those that are full and puts the one that forgets least into best,
// if it beats it.
func (s *Store) sample(sl *slot, now int64, by asker, best *candidate) (sampled, full int) {
	var found [samplePerSlot]candidate
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if sl.keys == 0 {
		return 0, 0
	}
	looked := 0
	gather := func(h uint64, e *entry) bool {
		for ; e != nil && sampled < len(found); e = e.next() {
			looked++
			if sl == by.slot && h == by.hash {
				continue
			}
			if forgets := s.forgets(e, now); forgets == 0 || !e.strict() {
				found[sampled] = candidate{sl, h, e, forgets}
				sampled++
			}
		}
		return sampled < len(found) && looked < lookPerSlot
	}
	pivot := s.rand()
	sl.tree.Ascend(pivot, gather)
	if sampled < len(found) && looked < min(int(sl.keys), lookPerSlot) {
		sl.tree.Scan(func(h uint64, e *entry) bool { return h < pivot && gather(h, e) })
	}
	for _, c := range found[:sampled] {
		switch {
		case c.forgets == 0:
			s.drop(sl, c.hash, c.entry)
			full++
		case best.entry == nil || c.forgets < best.forgets:
			*best = c
		}
	}
	s.counters.evictedFull.Add(int64(full))
	return sampled, full
}

// evictCandidate deletes c, unless it went or was charged since it was
// sampled: then it is no longer what was chosen.
func (s *Store) evictCandidate(c candidate, now int64) {
	c.slot.mu.Lock()
	defer c.slot.mu.Unlock()
	if !c.entry.gone() && s.forgets(c.entry, now) <= c.forgets {
		s.forget(c.slot, c.hash, c.entry, s.collect, mayTell)
		s.counters.evictedNotFull.Add(1)
	}
}

// drop deletes an entry of a slot whose lock the caller holds.
func (s *Store) drop(sl *slot, h uint64, e *entry) {
	if w := e.marked(); w != 0 {
		// It may be full only because of what was not told yet.
		s.tellGone(sl, e, w, mayTell)
	}
	freed := e.bytes()
	if s.specs.release(e.spec) {
		freed += specBytes
	}
	policy := e.policy()
	sl.remove(h, e)
	e.spec = goneSpec
	s.shortcuts.drop(h, e)
	s.memory.settle(-freed)
	s.held(policy).Add(-1)
}

// held counts the buckets of one kind.
func (s *Store) held(policy bool) *atomic.Int64 {
	if policy {
		return &s.policies
	}
	return &s.keys
}
