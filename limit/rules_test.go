package limit_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/limit"
)

// The instants and spans of these tests, in nanoseconds.
const (
	second = 1_000_000_000
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
	epoch  = 1_700_000_000 * second // some instant in 2023, and a whole minute less 40 s
)

// rule builds a Spec that must be good.
func rule(tb testing.TB, a limit.Algorithm, units, window, burst int64) limit.Spec {
	tb.Helper()
	spec, err := limit.DefaultBounds().Spec(a, units, window, burst)
	if err != nil {
		tb.Fatalf("Spec(%v, %d, %d, %d): %v", a, units, window, burst, err)
	}
	return spec
}

// key keeps one bucket as a store does: under the rule of its last admission.
type key struct {
	tb     rapid.TB
	stored limit.Spec
	bucket limit.Bucket
	used   bool
}

// ask asks, and does as a store with the answer.
func (k *key) ask(spec limit.Spec, now int64, req limit.Request) (d limit.Decision, changed bool) {
	if !k.used {
		k.stored = spec
	}
	d, changed = limit.Decide(k.stored, spec, &k.bucket, now, req)
	if changed {
		k.stored, k.used = spec, true
	}
	return d, changed
}

// decide asks, and checks what must hold for every answer.
func (k *key) decide(spec limit.Spec, now int64, req limit.Request) limit.Decision {
	k.tb.Helper()
	before := k.bytes()
	d, changed := k.ask(spec, now, req)
	asked := fmt.Sprintf("%+v of %+v at %d: %+v", req, spec, now, d)
	if d.Remaining < 0 || d.Remaining > d.Limit || d.Limit != spec.Capacity() {
		k.tb.Fatalf("%s: remaining outside 0..limit", asked)
	}
	if d.Allowed < 0 || d.ResetMS < 0 || d.WaitMS < -1 || d.Allowed == 0 && d.WaitMS == 0 {
		k.tb.Fatalf("%s: out of range", asked)
	}
	if want := d.Allowed > 0 && req.Cost > 0 && !req.Peek; changed != want {
		k.tb.Fatalf("%s: changed = %v, want %v", asked, changed, want)
	}
	if !changed {
		if after := k.bytes(); after != before {
			k.tb.Fatalf("%s: changed the state from %s to %s", asked, before, after)
		}
		return d
	}
	if left := limit.Remaining(spec, &k.bucket, now); left != d.Remaining {
		k.tb.Fatalf("%s: then %d remain", asked, left)
	}
	return d
}

// one asks for a unit.
func (k *key) one(spec limit.Spec, now int64) limit.Decision {
	k.tb.Helper()
	return k.decide(spec, now, limit.Request{Cost: 1})
}

// fullIn is in how many ns the key is as new.
func (k *key) fullIn(now int64) int64 { return limit.FullIn(k.stored, &k.bucket, now) }

// bytes is all that the key stores, to the last unused entry of a log.
func (k *key) bytes() string {
	if k.bucket.Log == nil {
		return fmt.Sprintf("%+v", k.bucket)
	}
	return fmt.Sprintf("%+v %+v", k.bucket, *k.bucket.Log)
}

// genRule draws rules, small ones and ones at the bounds.
func genRule(algorithms ...limit.Algorithm) *rapid.Generator[limit.Spec] {
	if len(algorithms) == 0 {
		algorithms = limit.Algorithms()
	}
	return rapid.Custom(func(t *rapid.T) limit.Spec {
		a := rapid.SampledFrom(algorithms).Draw(t, "algorithm")
		units := rapid.OneOf(
			rapid.Int64Range(1, 12),
			rapid.Int64Range(1, limit.MaxUnits),
			rapid.SampledFrom([]int64{1, 3, 100, 1_000_000, limit.MaxUnits - 1, limit.MaxUnits}),
		).Draw(t, "limit")
		if a == limit.SlidingLog {
			units = min(units, limit.DefaultBounds().MaxLog)
		}
		window := rapid.OneOf(
			rapid.Int64Range(limit.MinWindow, 20*limit.MinWindow),
			rapid.Int64Range(limit.MinWindow, limit.MaxWindow),
			rapid.SampledFrom([]int64{limit.MinWindow, second, 13 * second, minute, day, limit.MaxWindow}),
		).Draw(t, "window")
		burst := int64(0)
		if isBucket(a) {
			most := int64(limit.MaxUnits)
			if days := int64(73_000) * day / window; units <= most/days {
				most = units * days
			}
			burst = rapid.OneOf(
				rapid.Int64Range(0, min(20, most)),
				rapid.Int64Range(1, most),
				rapid.Just(most),
			).Draw(t, "burst")
		}
		spec, err := limit.DefaultBounds().Spec(a, units, window, burst)
		if err != nil {
			t.Fatalf("drew a bad rule: %v", err)
		}
		return spec
	})
}

// genSmallRule draws rules of like size, so that changes between them matter.
func genSmallRule(algorithms ...limit.Algorithm) *rapid.Generator[limit.Spec] {
	if len(algorithms) == 0 {
		algorithms = limit.Algorithms()
	}
	return rapid.Custom(func(t *rapid.T) limit.Spec {
		a := rapid.SampledFrom(algorithms).Draw(t, "algorithm")
		units := rapid.Int64Range(1, 12).Draw(t, "limit")
		window := rapid.OneOf(
			rapid.SampledFrom([]int64{10 * ms, second}),
			rapid.Int64Range(5*ms, 20*ms),
		).Draw(t, "window")
		burst := int64(0)
		if isBucket(a) {
			burst = rapid.Int64Range(0, 20).Draw(t, "burst")
		}
		spec, err := limit.DefaultBounds().Spec(a, units, window, burst)
		if err != nil {
			t.Fatalf("drew a bad rule: %v", err)
		}
		return spec
	})
}

// genRequest draws requests around what a capacity allows.
func genRequest(capacity int64) *rapid.Generator[limit.Request] {
	return rapid.Custom(func(t *rapid.T) limit.Request {
		cost := rapid.OneOf(
			rapid.Just(int64(1)),
			rapid.Int64Range(0, 3),
			rapid.Int64Range(0, max(1, capacity/8)),
			rapid.Int64Range(0, capacity),
			rapid.Int64Range(max(0, capacity-2), min(capacity+1, limit.MaxUnits)),
			rapid.Int64Range(0, limit.MaxUnits),
		).Draw(t, "cost")
		return limit.Request{
			Cost:   cost,
			AtMost: cost > 0 && rapid.Bool().Draw(t, "atmost"),
			Peek:   rapid.SampledFrom([]bool{false, false, false, true}).Draw(t, "peek"),
		}
	})
}

// clock is the time of a random history. It stays near its start, so that the
// longest distance in a bucket fits 64 bits.
type clock struct{ now, first, last int64 }

func newClock(start int64) *clock {
	const span = 1_000_000_000 * second // 31 years
	return &clock{now: start, first: max(0, start-span), last: start + span}
}

// step moves the clock to the time of the next request: often around what the
// last answer was about.
func (c *clock) step(t *rapid.T, spec limit.Spec, last limit.Decision, back bool) int64 {
	wait, reset := min(max(last.WaitMS, 0), 1<<40), min(last.ResetMS, 1<<40)
	steps := []*rapid.Generator[int64]{
		rapid.Just(int64(0)),
		rapid.Int64Range(0, 3),
		rapid.Int64Range(0, 5*ms),
		rapid.Int64Range(0, spec.Window),
		rapid.Int64Range(0, 3*spec.Window),
		rapid.SampledFrom([]int64{max(0, wait*ms-ms), wait * ms, max(0, reset*ms-ms), reset * ms}),
		rapid.SampledFrom([]int64{spec.Window - 1, spec.Window, spec.Window + 1, spec.Window - c.now%spec.Window}),
	}
	if back {
		steps = append(steps, rapid.OneOf(
			rapid.Int64Range(-5*ms, 0),
			rapid.Int64Range(-2*spec.Window, 0),
			rapid.Int64Range(-50*365*day, 0),
		))
	}
	c.now += rapid.OneOf(steps...).Draw(t, "step")
	c.now = min(max(c.now, c.first), c.last)
	return c.now
}
