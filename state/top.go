package state

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// TopKind is what RL.TOP orders by.
type TopKind uint8

// The kinds of top lists.
const (
	TopAsked  TopKind = iota // requests
	TopDenied                // requests that were denied
	topKinds
)

// TopKey is one line of a top list.
type TopKey struct {
	Key   string
	Count int64 // estimated, never too high
}

const (
	// topShards keeps cores from waiting for each other's counting.
	topShards = 16

	// topGeneration: the lists speak of the current and the last minute.
	topGeneration = int64(time.Minute)
)

// top counts who asks most and who is denied most. A probe and cost 0 do not
// count. Its memory is bounded: 64 KB, and at most 2,048 keys.
type top struct {
	shards [topShards]topShard
}

type topShard struct {
	mu         sync.Mutex
	generation int64 // minutes since the epoch
	random     uint64
	current    [topKinds]*sketch
	last       [topKinds]*sketch
	_          [8]byte // to 64: a cache line of its own
}

func newTop(seed uint64) *top {
	t := new(top)
	for i := range t.shards {
		sh := &t.shards[i]
		sh.random = seed + uint64(i) | 1<<63 // xorshift's state must not be 0
		for k := range topKinds {
			sh.current[k], sh.last[k] = new(sketch), new(sketch)
		}
	}
	return t
}

// count counts one request of key, whose hash is h.
func (t *top) count(h uint64, key []byte, denied bool, now int64) {
	sh := &t.shards[h%topShards]
	sh.mu.Lock()
	sh.rotate(now)
	random := sh.next()
	sh.current[TopAsked].add(h, key, random)
	if denied {
		sh.current[TopDenied].add(h, key, random)
	}
	sh.mu.Unlock()
}

// next is the next random number: xorshift64 (Marsaglia, 2003).
func (sh *topShard) next() uint32 {
	x := sh.random
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	sh.random = x
	return uint32(x >> 32)
}

// rotate begins a new generation when it is time.
func (sh *topShard) rotate(now int64) {
	if age := now - sh.generation*topGeneration; age >= 0 && age < topGeneration {
		return
	}
	generation := now / topGeneration
	switch generation - sh.generation {
	case -1: // another goroutine's clock was read a moment later
		return
	case 1:
		sh.current, sh.last = sh.last, sh.current
	default:
		for _, s := range sh.last {
			s.clear()
		}
	}
	for _, s := range sh.current {
		s.clear()
	}
	sh.generation = generation
}

// list returns the n keys with the highest counts, the highest first, those
// with equal counts by name.
func (t *top) list(kind TopKind, n int, now int64) []TopKey {
	if kind >= topKinds || n <= 0 {
		return nil
	}
	var all []TopKey
	for i := range t.shards {
		all = t.shards[i].list(kind, now, all)
	}
	slices.SortFunc(all, func(a, b TopKey) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Key, b.Key))
	})
	return slices.Clone(all[:min(n, len(all))])
}

func (sh *topShard) list(kind TopKind, now int64, all []TopKey) []TopKey {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.rotate(now)
	current, last := sh.current[kind], sh.last[kind]
	for _, k := range current.listed {
		all = append(all, TopKey{k.key, int64(current.times(k.hash)) + int64(last.times(k.hash))})
	}
	for _, k := range last.listed {
		if c := current.cell(k.hash); c != nil && c.count&listedBit != 0 {
			continue // counted above
		}
		all = append(all, TopKey{k.key, int64(current.times(k.hash)) + int64(last.times(k.hash))})
	}
	return all
}

// Top returns the n keys of the last one to two minutes with the highest
// counts of a kind, the highest first. A few hundred are kept.
func (s *Store) Top(kind TopKind, n int, now int64) []TopKey {
	return s.top.list(kind, n, now)
}
