package state

import (
	"math"
	"slices"
)

// sketch estimates which keys of a stream come most often, in memory that
// does not depend on the stream. It is HeavyGuardian (Yang et al., KDD 2018):
// a key's hash names a bucket of a few cells, each with a fingerprint and a
// count. A key without a cell wears down the smallest count of its bucket,
// with a probability that falls exponentially with that count, and has the
// cell when it is worn out. So what is frequent is safe from a flood of what
// is rare. A count is never too high, and exact as long as its bucket has
// room.
//
// The cells with the highest counts are listed, and only listed keys
// themselves are kept. A listed cell wears down after all others of its
// bucket, else a flood would have its keys copied in and out of the list.
type sketch struct {
	cells  [sketchBuckets][sketchCells]cell
	listed []listedKey // at most sketchListed, in no order
	floor  uint32      // what a count must pass to be listed; 0: there is room
}

const (
	sketchBuckets = 16
	sketchCells   = 8 // of 8 bytes: a bucket is one cache line
	sketchListed  = 32
)

type cell struct {
	print uint32
	count uint32 // 0: free. The top bit is set when the cell is listed
}

const listedBit = 1 << 31

func (c cell) times() uint32 { return c.count &^ listedBit }

type listedKey struct {
	hash uint64
	key  string
}

// fingerprint tells apart the hashes of one bucket. The bits below choose the bucket, and
// below them the shard of top.
func fingerprint(h uint64) uint32 { return uint32(h >> 32) }

func (s *sketch) bucket(h uint64) *[sketchCells]cell {
	return &s.cells[h/topShards%sketchBuckets]
}

// add counts one of key. random is a fresh random number.
func (s *sketch) add(h uint64, key []byte, random uint32) {
	c := s.cell(h)
	if c == nil {
		if c = s.conquer(h, random); c == nil {
			return
		}
	}
	if c.times() < listedBit-1 {
		c.count++
	}
	if c.count > s.floor && c.count&listedBit == 0 {
		s.list(c, h, key)
	}
}

// cell is the cell of a hash, or nil.
func (s *sketch) cell(h uint64) *cell {
	b, want := s.bucket(h), fingerprint(h)
	for i := range b {
		if b[i].print == want && b[i].count != 0 {
			return &b[i]
		}
	}
	return nil
}

// times is the count of a hash.
func (s *sketch) times(h uint64) uint32 {
	if c := s.cell(h); c != nil {
		return c.times()
	}
	return 0
}

// conquer wears down the weakest cell of a bucket and returns it, with the
// fingerprint of h and count 0, if it was free or is worn out.
func (s *sketch) conquer(h uint64, random uint32) *cell {
	b := s.bucket(h)
	least := uint64(math.MaxUint64) // count and index in one number: no branches to mispredict
	for i := range b {
		least = min(least, uint64(b[i].count)*sketchCells+uint64(i))
	}
	weak := &b[least%sketchCells]
	if weak.count != 0 {
		if !wears(weak.times(), random) {
			return nil
		}
		if weak.count--; weak.times() > 0 {
			return nil
		}
		if weak.count == listedBit {
			s.unlist(slices.IndexFunc(s.listed, func(k listedKey) bool { return s.cell(k.hash) == weak }))
		}
	}
	*weak = cell{print: fingerprint(h)}
	return weak
}

// list puts the cell c of key into the list, in place of the weakest where it
// is full.
func (s *sketch) list(c *cell, h uint64, key []byte) {
	if len(s.listed) == sketchListed {
		i, least := s.weakest()
		if c.count <= least {
			s.floor = least
			return
		}
		s.cell(s.listed[i].hash).count &^= listedBit
		s.unlist(i)
	}
	c.count |= listedBit
	s.listed = append(s.listed, listedKey{h, string(key)})
	if len(s.listed) == sketchListed {
		_, s.floor = s.weakest()
	}
}

func (s *sketch) unlist(i int) {
	last := len(s.listed) - 1
	s.listed[i] = s.listed[last]
	s.listed[last] = listedKey{}
	s.listed = s.listed[:last]
	s.floor = 0
}

// weakest is the listed key with the least count.
func (s *sketch) weakest() (index int, times uint32) {
	times = listedBit
	for i, k := range s.listed {
		if t := s.times(k.hash); t < times {
			index, times = i, t
		}
	}
	return index, times
}

// clear forgets all.
func (s *sketch) clear() {
	clear(s.listed)
	*s = sketch{listed: s.listed[:0]}
}

// wears reports whether a count of n is worn by one more key: with a
// probability of 1.08^-n.
func wears(n, random uint32) bool {
	return n < uint32(len(wearBelow)) && random < wearBelow[n]
}

// wearBelow[n] is 2^32 * 1.08^-n; from there on it is 0.
var wearBelow = makeWearBelow()

func makeWearBelow() (t [256]uint32) {
	p := uint64(1 << 32)
	for n := range t {
		t[n] = uint32(min(p, 1<<32-1))
		p = p * 100 / 108
	}
	return t
}
