package snapshot

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/state"
)

// drawSpec is a rule of any size, a log's small enough to be filled.
func drawSpec(t *rapid.T, a limit.Algorithm) limit.Spec {
	most := int64(limit.MaxUnits)
	if a == limit.SlidingLog {
		most = 1000
	}
	units := rapid.OneOf(rapid.Int64Range(1, 10), rapid.Int64Range(1, most)).Draw(t, "limit")
	window := rapid.OneOf(rapid.Int64Range(limit.MinWindow, second), rapid.Int64Range(limit.MinWindow, limit.MaxWindow)).Draw(t, "window")
	burst := int64(0)
	if a == limit.TokenBucket || a == limit.LeakyBucket {
		burst = rapid.Int64Range(0, most).Draw(t, "burst")
	}
	spec, err := limit.Bounds{MaxLog: most}.Spec(a, units, window, burst)
	if err != nil { // too long to fill
		spec, err = limit.Bounds{MaxLog: most}.Spec(a, units, window, 0)
	}
	if err != nil {
		t.Skip(err)
	}
	return spec
}

// drawBucket is a bucket as requests leave it, whose rule may have had other
// limits before: the rule it has last, and when the last request came.
func drawBucket(t *rapid.T, a limit.Algorithm) (stored limit.Spec, b limit.Bucket, last int64) {
	spec, now := drawSpec(t, a), start
	stored = spec
	for i := range rapid.IntRange(1, 12).Draw(t, "requests") {
		use := spec
		if i > 0 && rapid.IntRange(0, 4).Draw(t, "other") == 0 {
			use = drawSpec(t, a)
			if use.Burst == use.Limit && rapid.Bool().Draw(t, "same window") {
				use.Window = spec.Window
			}
		}
		now += rapid.Int64Range(0, spec.Window/2).Draw(t, "later")
		cost := rapid.OneOf(rapid.Int64Range(1, use.Burst), rapid.Just(int64(1))).Draw(t, "cost")
		if _, changed := limit.Decide(stored, use, &b, now, limit.Request{Cost: cost, AtMost: true}); changed {
			stored = use
		}
	}
	return stored, b, now
}

// carried is b as it is read by a clock, when it was written at now.
func carried(t *rapid.T, spec limit.Spec, b limit.Bucket, now int64, clock Clock) limit.Bucket {
	record := state.Record{Key: []byte("k"), Spec: spec, Bucket: b}
	f := read(bytes.NewReader(write(t, false, &Slot{Written: now, Records: []state.Record{record}})), clock)
	if !errors.Is(f.err, io.EOF) || len(f.slots) != 1 || len(f.slots[0].Records) != 1 || !f.reader.Ended() {
		t.Fatalf("%d slots, %v, %v", len(f.slots), f.errs, f.err)
	}
	got := f.slots[0].Records[0]
	if got.Spec != spec {
		t.Fatalf("rule %+v, want %+v", got.Spec, spec)
	}
	return got.Bucket
}

// TestBucketsKeepTheirState: whatever the reader's clock shows, a bucket
// answers there as it does here, at every time after.
func TestBucketsKeepTheirState(t *testing.T) {
	for _, a := range limit.Algorithms() {
		t.Run(a.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				spec, b, last := drawBucket(t, a)
				now := last + rapid.Int64Range(0, 3*spec.Window).Draw(t, "saved after")
				there := rapid.SampledFrom([]int64{0, 1, start - 400*day, now - 1, now, now + 1, now + 400*day}).Draw(t, "reader's clock")
				got := carried(t, spec, b, now, At(there))
				for range 5 {
					after := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 3*spec.Window)).Draw(t, "after")
					cost := rapid.Int64Range(0, spec.Burst).Draw(t, "cost")
					req := limit.Request{Cost: cost, Peek: true}
					was, _ := limit.Decide(spec, spec, &b, now+after, req)
					is, _ := limit.Decide(spec, spec, &got, there+after, req)
					if fresh(spec, b, now+after) {
						// Where a new window begins is each clock's own.
						was.ResetMS, is.ResetMS = 0, 0
					}
					if is != was {
						t.Fatalf("%+v %d ns later, cost %d: %+v, was %+v", spec, after, cost, is, was)
					}
				}
			})
		})
	}
}

// fresh says whether a window algorithm counts nothing at now.
func fresh(spec limit.Spec, b limit.Bucket, now int64) bool {
	windowed := spec.Algorithm == limit.SlidingWindow || spec.Algorithm == limit.FixedWindow
	return windowed && limit.FullIn(spec, &b, now) == 0
}

// TestClocksThatGoBack: neither clock can mint units or lock anybody out.
func TestClocksThatGoBack(t *testing.T) {
	for _, a := range limit.Algorithms() {
		t.Run(a.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				spec, b, last := drawBucket(t, a)
				back := rapid.OneOf(rapid.Int64Range(0, 2*spec.Window), rapid.Int64Range(0, 400*day))
				now := last - back.Draw(t, "writer back")
				there := now - back.Draw(t, "reader back")
				if rapid.Bool().Draw(t, "ahead") {
					there = now + back.Draw(t, "reader ahead")
				}
				got := carried(t, spec, b, now, Since(there))

				// Since when it was written, that much has passed at least.
				passed := max(there-now, 0)
				begin := min(now, there)
				if was, is := limit.Remaining(spec, &b, now), limit.Remaining(spec, &got, begin); is > was {
					t.Fatalf("%+v: %d remain, were %d", spec, is, was)
				}
				atOnce := limit.Remaining(spec, &got, there)
				if most := limit.Remaining(spec, &b, last+passed+max(last-now, 0)); now >= last && atOnce > most {
					t.Fatalf("%+v: %d remain after %d ns, want at most %d", spec, atOnce, passed, most)
				}
				if in, most := limit.FullIn(spec, &got, there), refill(spec); in > most {
					t.Fatalf("%+v: full in %d ns, want at most %d", spec, in, most)
				}
			})
		})
	}
}

// refill is the longest time from empty to full.
func refill(spec limit.Spec) int64 {
	switch spec.Algorithm {
	case limit.SlidingWindow:
		return 2 * spec.Window
	case limit.FixedWindow, limit.SlidingLog:
		return spec.Window
	default:
		spent := limit.Spent(spec, 0)
		return limit.FullIn(spec, &spent, 0)
	}
}
