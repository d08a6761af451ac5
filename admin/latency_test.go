package admin

import (
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

func TestLatencyBounds(t *testing.T) {
	bounds := latencyBounds()
	if !slices.IsSorted(bounds[:]) {
		t.Errorf("%v is not sorted", bounds)
	}
	if size := unsafe.Sizeof(Latency{}.lanes[0]); size%64 != 0 {
		t.Errorf("a lane has %d bytes: lanes share cache lines", size)
	}
}

// TestLatencyCounts: every decision is in one bucket, and not above its bound.
func TestLatencyCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Latency
		var nanos, n uint64
		model := make(map[float64]uint64)
		for range rapid.IntRange(0, 20).Draw(t, "observations") {
			took := rapid.Int64Range(-1_000, 3e9).Draw(t, "took")
			count := rapid.IntRange(-1, 100).Draw(t, "count")
			l.Observe(rapid.Int64().Draw(t, "lane"), took, count)
			if count <= 0 {
				continue
			}
			n += uint64(count)
			nanos += uint64(max(took, 0)) * uint64(count)
			for _, bound := range latencyBounds() {
				if took <= int64(bound) {
					model[bound.Seconds()] += uint64(count)
				}
			}
		}
		h := l.Histogram()
		if h.count() != n || h.nanos != nanos {
			t.Fatalf("%d decisions of %d ns, want %d of %d", h.count(), h.nanos, n, nanos)
		}
		for bound, got := range h.cumulative() {
			if got != model[bound] {
				t.Fatalf("%d took at most %v s, want %d", got, bound, model[bound])
			}
		}
	})
}

func TestAtMost(t *testing.T) {
	var l Latency
	for _, step := range []struct {
		took     time.Duration
		n        int
		permille uint64
		want     time.Duration
		ok       bool
	}{
		{0, 0, 990, 0, false},
		{time.Microsecond, 1, 990, 10 * time.Microsecond, true},
		{time.Microsecond, 98, 990, 10 * time.Microsecond, true},
		{3 * time.Millisecond, 1, 990, 10 * time.Microsecond, true},       // 1 of 100
		{3 * time.Millisecond, 1, 990, 5 * time.Millisecond, true},        // 2 of 101
		{time.Minute, 2, 990, 0, false},                                   // 2 of 103 beyond every bound
		{time.Microsecond, 1000, 990, 10 * time.Microsecond, true},        // few again
		{time.Microsecond, 0, 999, 0, false},                              // but not that few
		{10 * time.Microsecond, 0, 500, 10 * time.Microsecond, true},      // half
		{250 * time.Millisecond, 0, 1, 10 * time.Microsecond, true},       // the fastest
		{250 * time.Millisecond, 0, 1000, 0, false},                       // all
		{250 * time.Millisecond, 9000, 990, 250 * time.Millisecond, true}, // many slow ones
	} {
		l.Observe(0, int64(step.took), step.n)
		h := l.Histogram()
		if got, ok := h.atMost(step.permille); got != step.want || ok != step.ok {
			t.Errorf("after %d of %s: %s, %v; want %s, %v", step.n, step.took, got, ok, step.want, step.ok)
		}
	}
}

func TestLatencySince(t *testing.T) {
	var l Latency
	l.Observe(0, 1000, 5)
	first := l.Histogram()
	l.Observe(3, int64(time.Second), 2)
	later := l.Histogram()
	since := later.since(&first)
	if since.count() != 2 || since.seconds() != 2 {
		t.Errorf("%d decisions of %v s", since.count(), since.seconds())
	}
	if later.count() != 7 {
		t.Error("since changed what it was asked of")
	}
}

func TestLatencyFromManyGoroutines(t *testing.T) {
	var l Latency
	var all sync.WaitGroup
	const goroutines, each = 8, 1000
	for g := range int64(goroutines) {
		all.Go(func() {
			for i := range int64(each) {
				l.Observe(g, i*1000, 1)
			}
		})
	}
	all.Wait()
	if h := l.Histogram(); h.count() != goroutines*each {
		t.Errorf("%d decisions", h.count())
	}
}

func BenchmarkObserve(b *testing.B) {
	var l Latency
	for b.Loop() {
		l.Observe(3, 1200, 1)
	}
}
