package state

import "sync/atomic"

// counters only ever rise.
type counters struct {
	evictedFull    atomic.Int64
	evictedNotFull atomic.Int64
	noRoom         atomic.Int64
	swept          atomic.Int64
	conversions    atomic.Int64
}

// Stats is what a store holds and what it has done since it was made.
type Stats struct {
	Keys        int64 // of RL.ALLOW, held, full ones that were not swept included
	PolicyKeys  int64 // policies' buckets, likewise
	MemoryBytes int64 // accounted
	MaxMemory   int64
	Specs       int64 // different rules in use

	// Counters.
	EvictedFull    int64 // deleted to make room, without effect on any decision
	EvictedNotFull int64 // deleted to make room, and so forgotten
	NoRoom         int64 // decisions that failed with ErrNoRoom
	Swept          int64 // deleted by sweeps
	Sweeps         int64 // whole rounds over all slots
	Conversions    int64 // buckets that went on under another rule
}

// Stats returns the current numbers. They are read one by one.
func (s *Store) Stats() Stats {
	return Stats{
		Keys:           s.keys.Load(),
		PolicyKeys:     s.policies.Load(),
		MemoryBytes:    s.memory.used.Load(),
		MaxMemory:      s.memory.bound(),
		Specs:          int64(s.specs.len()),
		EvictedFull:    s.counters.evictedFull.Load(),
		EvictedNotFull: s.counters.evictedNotFull.Load(),
		NoRoom:         s.counters.noRoom.Load(),
		Swept:          s.counters.swept.Load(),
		Sweeps:         int64(s.sweepNext.Load() / Slots),
		Conversions:    s.counters.conversions.Load(),
	}
}
