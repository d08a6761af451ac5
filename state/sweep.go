package state

// evictPerSlot is how many buckets a sweep evicts for each slot it visits
// while the memory in use is above a bound that was lowered.
const evictPerSlot = 16

// SweepResult is what one call of Sweep did.
type SweepResult struct {
	Slots   int // slots visited
	Keys    int // keys looked at
	Deleted int // keys deleted: full and idle
}

// Sweep visits the next slots, round robin, and deletes what is full and has
// not been charged for longer than SweepIdle, which changes no decision. The
// caller paces it: a slot of a million keys' store takes some microseconds.
// After SetMaxMemory lowered the bound it also evicts.
func (s *Store) Sweep(now int64, slots int) (r SweepResult) {
	slots = min(max(slots, 0), Slots)
	first := s.sweepNext.Add(uint64(slots)) - uint64(slots)
	idle := s.sweepIdle.Load()
	for i := range uint64(slots) {
		s.deleteIf(&s.slots[(first+i)%Slots], &r, func(e *entry) bool {
			return e.idle(now) > idle && s.fullIn(e, now) == 0
		})
	}
	r.Slots = slots
	s.counters.swept.Add(int64(r.Deleted))
	for left := slots * evictPerSlot; left > 0 && s.memory.lower() > 0; left-- {
		if !s.evict(now, asker{}) {
			break
		}
	}
	s.tidy()
	return r
}

// Flush drops every bucket of RL.ALLOW's keys and returns how many there were, full ones
// included. It goes slot by slot: what is made meanwhile may stay.
func (s *Store) Flush() (n int64) {
	var r SweepResult
	for i := range s.slots {
		before := r.Deleted
		s.deleteIf(&s.slots[i], &r, func(e *entry) bool { return !e.policy() })
		if r.Deleted > before {
			s.markWhole(&s.slots[i], s.collect)
		}
	}
	s.tidy()
	return int64(r.Deleted)
}

// tidy gives back what is held for more keys than there are.
func (s *Store) tidy() {
	s.specs.compact()
	s.shortcuts.fit(s.keys.Load() + s.policies.Load())
}

// deleteIf deletes the entries of a slot that are to go. It holds the lock
// for a bounded number of keys at a time, so that a slot with a million keys
// of one tag does not stop their requests.
func (s *Store) deleteIf(sl *slot, r *SweepResult, goes func(*entry) bool) {
	for pos, more := uint64(0), true; more; {
		pos, more = s.deleteBatch(sl, pos, r, goes)
	}
}

func (s *Store) deleteBatch(sl *slot, pos uint64, r *SweepResult, goes func(*entry) bool) (next uint64, more bool) {
	type found struct {
		hash  uint64
		entry *entry
	}
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if sl.keys == 0 {
		return 0, false
	}
	var buf [walkBatch]found
	going := buf[:0]
	next, more = sl.walk(pos, walkBatch, func(h uint64, e *entry) {
		r.Keys++
		if goes(e) {
			going = append(going, found{h, e})
		}
	})
	for _, f := range going {
		s.drop(sl, f.hash, f.entry)
	}
	r.Deleted += len(going)
	return next, more
}
