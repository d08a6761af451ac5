package limit_test

import (
	"math"
	"math/big"
	"math/bits"
	"testing"

	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/limit"
)

// earned is floor(units*span/window), or what is more than anybody asks for.
func earned(units, window, span int64) int64 {
	hi, lo := bits.Mul64(uint64(units), uint64(span))
	if hi >= uint64(window)/8 {
		return math.MaxInt64 / 4
	}
	n, _ := bits.Div64(hi, lo, uint64(window))
	return int64(n)
}

// history is what a key admitted: every request in order, the denied with 0.
type history []admission

// check compares every span of the history, first to last request included,
// with the most that may pass in it.
func (h history) check(t rapid.TB, allowance func(from, to int64) int64) {
	t.Helper()
	for i := range h {
		from, to, sum := h[i].at, h[i].at, int64(0)
		for _, a := range h[i:] {
			from, to = min(from, a.at), max(to, a.at) // the clock may go back
			sum += a.units
			if most := allowance(from, to); sum > most {
				t.Fatalf("%d units passed in the %d ns from %d, at most %d may", sum, to-from, from, most)
			}
		}
	}
}

// run asks at random times, mostly for what is there.
func run(t *rapid.T, spec limit.Spec, back bool) history {
	k, clock := &key{tb: t}, newClock(rapid.Int64Range(0, 2*epoch).Draw(t, "start"))
	var h history
	var last limit.Decision
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		now := clock.step(t, spec, last, back)
		req := genRequest(spec.Capacity()).Draw(t, "request")
		last = k.decide(spec, now, req)
		units := int64(0)
		if last.Allowed > 0 && !req.Peek {
			units = req.Cost
			if req.AtMost {
				units = last.Allowed
			}
		}
		h = append(h, admission{now, units})
	}
	return h
}

// TestEverySpanAdmitsAtMostBurstAndWhatItEarns is the promise of all
// algorithms but fixed-window, also while the clock goes back.
func TestEverySpanAdmitsAtMostBurstAndWhatItEarns(t *testing.T) {
	for _, a := range limit.Algorithms() {
		if a == limit.FixedWindow {
			continue
		}
		for name, rules := range map[string]*rapid.Generator[limit.Spec]{"small": genSmallRule(a), "all": genRule(a)} {
			t.Run(a.String()+"/"+name, func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					spec := rules.Draw(t, "rule")
					back := rapid.Bool().Draw(t, "back")
					run(t, spec, back).check(t, func(from, to int64) int64 {
						return spec.Burst + earned(spec.Limit, spec.Window, to-from)
					})
				})
			})
		}
	}
}

func TestSlidingLogAdmitsItsLimitInAnyWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := genSmallRule(limit.SlidingLog).Draw(t, "rule")
		h := run(t, spec, false)
		for i := range h {
			sum := int64(0)
			for _, a := range h[i:] {
				if a.at < h[i].at+spec.Window {
					sum += a.units
				}
			}
			if sum > spec.Limit {
				t.Fatalf("%d units in the window from %d, limit %d", sum, h[i].at, spec.Limit)
			}
		}
	})
}

func TestFixedWindowAdmitsItsLimitPerWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := genRule(limit.FixedWindow).Draw(t, "rule")
		windows := map[int64]int64{}
		for _, a := range run(t, spec, false) {
			windows[a.at/spec.Window] += a.units
		}
		for w, sum := range windows {
			if sum > spec.Limit {
				t.Fatalf("%d units in window %d, limit %d", sum, w, spec.Limit)
			}
		}
	})
}

// TestGreedyCallerGetsExactlyTheFloor: the caller asks for all there is, often
// enough that the bucket is never full. Not a unit is lost or gained.
func TestGreedyCallerGetsExactlyTheFloor(t *testing.T) {
	const year = 365 * day
	for _, c := range []struct {
		name                 string
		units, window, burst int64
		step, span           int64
	}{
		{"3 per second over a year", 3, second, 1000, 331*second + 333_333_337, year},
		{"7 per 13 s over a year", 7, 13 * second, 500, 911*second + 7, year},
		{"1 per 366 days over 50 years", 1, limit.MaxWindow, 3, 17*day + 1, 50 * year},
		{"1,000,000 per hour over a year", 1_000_000, hour, 1_000_000, 59*minute + 999_999_999, year},
		{"1e12 per ms over a minute", limit.MaxUnits, limit.MinWindow, limit.MaxUnits, 999_983, minute},
		{"999,999,999,989 per 366 days over 10 years", 999_999_999_989, limit.MaxWindow, limit.MaxUnits, 31*day + 41, 10 * year},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := rule(t, limit.TokenBucket, c.units, c.window, c.burst)
			var b limit.Bucket
			passed := int64(0)
			for span := int64(0); span <= c.span; span += c.step {
				d, _ := limit.Decide(spec, spec, &b, epoch+span, limit.Request{Cost: spec.Burst, AtMost: true})
				passed += d.Allowed
				if want := spec.Burst + earned(spec.Limit, spec.Window, span); passed != want {
					t.Fatalf("after %d ns %d units have passed, want %d", span, passed, want)
				}
			}
		})
	}
}

// TestWaitingCallerGetsExactlyTheFloor asks for one unit, and again after
// exactly the wait it was told, for a day.
func TestWaitingCallerGetsExactlyTheFloor(t *testing.T) {
	for _, a := range []limit.Algorithm{limit.TokenBucket, limit.LeakyBucket} {
		t.Run(a.String(), func(t *testing.T) {
			spec := rule(t, a, 3, second, 2)
			var b limit.Bucket
			passed, denied := int64(0), 0
			for span := int64(0); span < day; {
				d, changed := limit.Decide(spec, spec, &b, epoch+span, limit.Request{Cost: 1})
				if !changed {
					span += d.WaitMS * ms
					denied++
					continue
				}
				passed++
				if want := spec.Burst + earned(3, second, span); passed > want {
					t.Fatalf("after %d ns %d units have passed, at most %d may", span, passed, want)
				}
			}
			if want := spec.Burst + 3*24*3600; passed < want-1 {
				t.Errorf("%d units have passed in a day, want %d", passed, want)
			}
			if denied > int(passed) {
				t.Errorf("denied %d times for %d units: a wait was too short", denied, passed)
			}
		})
	}
}

// TestLeakyBucketTurnsAreEvenlyApart: what was admitted at once is spread by
// its turns.
func TestLeakyBucketTurnsAreEvenlyApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := genSmallRule(limit.LeakyBucket).Draw(t, "rule")
		k := &key{tb: t}
		taken := int64(0) // since the queue was last empty
		now := int64(epoch)
		for range rapid.IntRange(1, 30).Draw(t, "requests") {
			cost := rapid.Int64Range(1, spec.Burst).Draw(t, "cost")
			d := k.decide(spec, now, limit.Request{Cost: cost})
			if d.Allowed == 0 {
				break
			}
			turn := new(big.Rat).Mul(unitNS(spec), rat(taken))
			if want := ceil(turn.Quo(turn, rat(ms))).Int64(); d.WaitMS != want {
				t.Fatalf("the turn of unit %d is in %d ms, want %d", taken+1, d.WaitMS, want)
			}
			taken += cost
		}
		if taken > spec.Burst {
			t.Fatalf("%d units wait in a queue of %d", taken, spec.Burst)
		}
	})
}
