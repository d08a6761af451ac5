package admin

import (
	"sync/atomic"
	"time"
)

// latencyLanes spread a busy histogram so that cores do not fight over one
// line.
const latencyLanes = 8

// latencyBuckets is the number of buckets, the last one unbounded.
const latencyBuckets = 16

// latencyBounds are the upper bounds of the buckets. A decision takes about a
// microsecond, a deep pipeline some hundred: what is of interest is how long
// the slow ones take.
func latencyBounds() [latencyBuckets - 1]time.Duration {
	return [...]time.Duration{
		10 * time.Microsecond, 25 * time.Microsecond, 50 * time.Microsecond,
		100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
		1 * time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
		10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
		100 * time.Millisecond, 250 * time.Millisecond, 1 * time.Second,
	}
}

// Latency counts decisions by the time they took. It may be used from any
// goroutine; the zero value is empty.
type Latency struct {
	lanes [latencyLanes]struct {
		nanos   atomic.Uint64 // sum
		buckets [latencyBuckets]atomic.Uint64
		_       [56]byte // to 192: lanes share no cache line
	}
}

// Observe counts n decisions that took nanos each. lane is any number that
// spreads the callers, such as that of their connection.
func (l *Latency) Observe(lane int64, nanos int64, n int) {
	if n <= 0 {
		return
	}
	nanos = max(nanos, 0)
	at := &l.lanes[uint64(lane)%latencyLanes]
	at.nanos.Add(uint64(nanos) * uint64(n))
	at.buckets[latencyBucket(time.Duration(nanos))].Add(uint64(n))
}

func latencyBucket(took time.Duration) int {
	for i, bound := range latencyBounds() {
		if took <= bound {
			return i
		}
	}
	return latencyBuckets - 1
}

// Histogram returns what was counted so far.
func (l *Latency) Histogram() (h Histogram) {
	for i := range l.lanes {
		h.nanos += l.lanes[i].nanos.Load()
		for b := range h.buckets {
			h.buckets[b] += l.lanes[i].buckets[b].Load()
		}
	}
	return h
}

// Histogram is a reading of Latency.
type Histogram struct {
	nanos   uint64
	buckets [latencyBuckets]uint64 // each without those below it
}

// count is the number of decisions.
func (h *Histogram) count() (n uint64) {
	for _, b := range h.buckets {
		n += b
	}
	return n
}

// seconds is the sum of what they took.
func (h *Histogram) seconds() float64 { return float64(h.nanos) / 1e9 }

// cumulative maps each bound, in seconds, to the decisions that took no
// longer.
func (h *Histogram) cumulative() map[float64]uint64 {
	sums := make(map[float64]uint64, latencyBuckets-1)
	sum := uint64(0)
	for i, bound := range latencyBounds() {
		sum += h.buckets[i]
		sums[bound.Seconds()] = sum
	}
	return sums
}

// since is what was counted after an earlier reading.
func (h Histogram) since(earlier *Histogram) Histogram {
	h.nanos -= earlier.nanos
	for i := range h.buckets {
		h.buckets[i] -= earlier.buckets[i]
	}
	return h
}

// atMost is the bound below which permille of 1,000 decisions stayed; false
// if there were none, or if they were slower than the highest bound.
func (h *Histogram) atMost(permille uint64) (time.Duration, bool) {
	want := (h.count()*permille + 999) / 1000
	if want == 0 {
		return 0, false
	}
	sum := uint64(0)
	for i, bound := range latencyBounds() {
		if sum += h.buckets[i]; sum >= want {
			return bound, true
		}
	}
	return 0, false
}
