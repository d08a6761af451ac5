package limit_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/limit"
)

// eachPair runs a test for every pair of algorithms.
func eachPair(t *testing.T, test func(t *testing.T, from, to limit.Algorithm)) {
	for _, from := range limit.Algorithms() {
		for _, to := range limit.Algorithms() {
			t.Run(from.String()+" to "+to.String(), func(t *testing.T) { test(t, from, to) })
		}
	}
}

// TestChangedRulesAdmitNoMore: callers with different rules share a key. Over
// every span they get at most the largest capacity and what the largest rate
// earns, and a capacity more for each boundary of a fixed window.
func TestChangedRulesAdmitNoMore(t *testing.T) {
	eachPair(t, func(t *testing.T, from, to limit.Algorithm) {
		rapid.Check(t, func(t *rapid.T) {
			rules := []limit.Spec{
				genSmallRule(from).Draw(t, "one rule"),
				genSmallRule(to).Draw(t, "other rule"),
			}
			k, clock := &key{tb: t}, newClock(epoch)
			var h history
			var last limit.Decision
			for range rapid.IntRange(10, 60).Draw(t, "steps") {
				spec := rapid.SampledFrom(rules).Draw(t, "rule")
				now := clock.step(t, spec, last, false)
				req := limit.Request{Cost: rapid.Int64Range(1, spec.Capacity()).Draw(t, "cost"), AtMost: true}
				last = k.decide(spec, now, req)
				h = append(h, admission{now, last.Allowed})
			}
			h.check(t, func(at, until int64) int64 { return sharedAllowance(rules, at, until) })
		})
	})
}

// sharedAllowance is the most that may pass from one instant to another,
// whichever of the rules is asked by at any time.
func sharedAllowance(rules []limit.Spec, from, to int64) int64 {
	capacity, most, boundaries := int64(0), int64(0), int64(0)
	for _, s := range rules {
		capacity = max(capacity, s.Capacity())
		most = max(most, earned(s.Limit, s.Window, to-from))
		if s.Algorithm == limit.FixedWindow {
			boundaries += to/s.Window - from/s.Window
		}
	}
	return capacity*(1+boundaries) + most
}

// TestAlternatingCallersLockNobodyOut: both ask all the time, by different
// rules. Rounding at each change must not eat what is earned: they get at
// least a quarter of the slower rate, and each of them gets something.
func TestAlternatingCallersLockNobodyOut(t *testing.T) {
	eachPair(t, func(t *testing.T, from, to limit.Algorithm) {
		rapid.Check(t, func(t *rapid.T) {
			rules := []limit.Spec{
				genSmallRule(from).Draw(t, "one rule"),
				genSmallRule(to).Draw(t, "other rule"),
			}
			window := max(rules[0].Window, rules[1].Window)
			step := rapid.Int64Range(1, window/20).Draw(t, "step")
			span := 400 * step
			slower := min(earned(rules[0].Limit, rules[0].Window, span), earned(rules[1].Limit, rules[1].Window, span))

			k, now := &key{tb: t}, int64(epoch)
			passed := int64(0)
			for range 200 {
				for _, spec := range rules {
					d, _ := k.ask(spec, now, limit.Request{Cost: 1})
					passed += d.Allowed
					now += step
				}
			}
			if passed < slower/4 {
				t.Fatalf("%d units passed, the slower rule alone earns %d", passed, slower)
			}
			for _, spec := range rules {
				d := k.one(spec, now)
				if d.Allowed == 0 {
					now += d.WaitMS * ms
					d = k.one(spec, now)
				}
				if d.Allowed == 0 {
					t.Fatalf("%+v is locked out: %+v", spec, d)
				}
			}
		})
	})
}

// TestWhatWasUsedStaysUsed, when the rule changes: whole units, and between
// buckets their fractions too.
func TestWhatWasUsedStaysUsed(t *testing.T) {
	const now = epoch
	used := func(a limit.Algorithm, units, window, n, after int64) *key {
		k := &key{tb: t}
		k.decide(rule(t, a, units, window, 0), now-after, limit.Request{Cost: n})
		return k
	}
	token := rule(t, limit.TokenBucket, 100, second, 0)
	fixed := rule(t, limit.FixedWindow, 100, hour, 0)
	for _, c := range []struct {
		name      string
		key       *key
		to        limit.Spec
		remaining int64 // after one more unit
		fullIn    int64
	}{
		// 4 used, 2.5 s later 2.75 of them still are: 3.75 at 100 per second.
		{"token to token", used(limit.TokenBucket, 10, 20*second, 4, 2500*ms), token, 96, 37_500_000},
		// 6,999,999 of the 7,000,000 ns that weighed 1 unit, now 10/7 as much, rounded up; and one more.
		{"to the last fraction", used(limit.TokenBucket, 1, 7*ms, 1, 1), rule(t, limit.LeakyBucket, 1, 10*ms, 10), 8, 19_999_999},
		{"leaky to token", used(limit.LeakyBucket, 10, 20*second, 4, 2500*ms), token, 96, 37_500_000},
		{"token to log", used(limit.TokenBucket, 10, 20*second, 4, 2500*ms), rule(t, limit.SlidingLog, 100, second, 0), 96, second},
		{"log to token", used(limit.SlidingLog, 10, 20*second, 4, 2500*ms), token, 95, 50_000_000},
		{"log to fixed", used(limit.SlidingLog, 10, 20*second, 4, 2500*ms), fixed, 95, hour - now%hour},
		{"fixed, other window", used(limit.FixedWindow, 10, 20*second, 4, 0), fixed, 95, hour - now%hour},
		{"fixed, other limit", used(limit.FixedWindow, 10, hour, 4, 0), fixed, 95, hour - now%hour},
		{"window, other limit", used(limit.SlidingWindow, 10, hour, 4, 0), rule(t, limit.SlidingWindow, 100, hour, 0), 95, 2*hour - now%hour},
		// The window before this one was full, and 16 of its 24 s still count: ceil(10*16/24) = 7.
		{"window to token", used(limit.SlidingWindow, 10, 24*second, 10, 20*second), token, 92, 80_000_000},
		{"nothing is left to keep", used(limit.SlidingLog, 10, second, 10, second), token, 99, 10_000_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := c.key.one(c.to, now)
			if d.Allowed != 1 || d.Remaining != c.remaining {
				t.Errorf("got %+v, want %d remaining", d, c.remaining)
			}
			if got := c.key.fullIn(now); got != c.fullIn {
				t.Errorf("full in %d ns, want %d", got, c.fullIn)
			}
		})
	}
}

// TestRaisedAndLoweredLimits on a key in use.
func TestRaisedAndLoweredLimits(t *testing.T) {
	eachPair(t, func(t *testing.T, from, to limit.Algorithm) {
		small, large := rule(t, from, 10, minute, 0), rule(t, to, 50, minute, 0)
		k, now := &key{tb: t}, int64(epoch)
		k.decide(small, now, limit.Request{Cost: 10})
		if d := k.one(small, now); d.Allowed != 0 {
			t.Fatalf("the small rule admits more than it has: %+v", d)
		}
		if d := k.decide(large, now, limit.Request{Cost: 40}); d.Allowed != 1 || d.Remaining != 0 {
			t.Errorf("the raised limit does not help at once: %+v", d)
		}

		// Lowered again: 50 are used, and they fall by the large rule.
		d := k.one(small, now)
		if d.Allowed != 0 || d.Remaining != 0 || k.stored != large {
			t.Errorf("the lowered limit forgets what was used: %+v", d)
		}
		if d := k.one(small, now+(d.WaitMS-1)*ms); d.Allowed != 0 {
			t.Errorf("admitted before the wait was over: %+v", d)
		}
		if d := k.one(small, now+d.WaitMS*ms); d.Allowed != 1 || k.stored != small {
			t.Errorf("denied after the wait: %+v", d)
		}
	})
}

// TestLogKeepsItsEntriesWhenOnlyTheLimitChanges: each unit still leaves a
// window after it came.
func TestLogKeepsItsEntriesWhenOnlyTheLimitChanges(t *testing.T) {
	k, now := &key{tb: t}, int64(epoch)
	before, after := rule(t, limit.SlidingLog, 3, second, 0), rule(t, limit.SlidingLog, 5, second, 0)
	for i := range int64(3) {
		k.one(before, now+i*100*ms)
	}
	k.one(after, now+300*ms)
	k.one(after, now+300*ms)
	d := k.one(after, now+300*ms)
	if want := (limit.Decision{Limit: 5, WaitMS: 700, ResetMS: 1000}); d != want {
		t.Errorf("got %+v, want %+v", d, want)
	}
}

// TestWindowKeepsItsPhaseUntilTheKeyIsNew: a window that came from a machine
// with another clock ends when it would have ended there, the next ones follow
// from it, and a new key is aligned to the epoch again.
func TestWindowKeepsItsPhaseUntilTheKeyIsNew(t *testing.T) {
	spec := rule(t, limit.SlidingWindow, 10, minute, 0)
	start := int64(epoch) - 7*second
	if start%minute == 0 {
		t.Fatal("the window under test must not be aligned")
	}
	k := &key{tb: t, stored: spec, used: true, bucket: limit.Bucket{A: start, B: 10}}

	if d := k.one(spec, start+minute-1); d.Allowed != 0 {
		t.Errorf("the window ended early: %+v", d)
	}
	// A tenth into the next window 9 of the 10 still count.
	if d := k.one(spec, start+66*second); d.Allowed != 1 || d.Remaining != 0 || k.bucket.A != start+minute {
		t.Errorf("the next window does not follow on the first: %+v, %+v", d, k.bucket)
	}
	later := start + 10*minute
	if d := k.one(spec, later); d.Remaining != 9 || k.bucket.A != later-later%minute {
		t.Errorf("the new key is not aligned: %+v, %+v", d, k.bucket)
	}

	// All units of the current window were given back, and those of the
	// previous one no longer count: new as well.
	k = &key{tb: t, stored: spec, used: true, bucket: limit.Bucket{A: start, C: 10}}
	if d := k.one(spec, start+minute); d.Remaining != 9 || k.bucket.A%minute != 0 {
		t.Errorf("the new key is not aligned: %+v, %+v", d, k.bucket)
	}

	fixed := rule(t, limit.FixedWindow, 10, minute, 0)
	k = &key{tb: t, stored: fixed, used: true, bucket: limit.Bucket{A: start, B: 10}}
	if d := k.one(fixed, start+minute-1); d.Allowed != 0 {
		t.Errorf("the window ended early: %+v", d)
	}
	if d := k.one(fixed, start+minute); d.Remaining != 9 || k.bucket.A%minute != 0 {
		t.Errorf("the new key is not aligned: %+v, %+v", d, k.bucket)
	}
}

// TestSpentBucketIsEmpty under every algorithm.
func TestSpentBucketIsEmpty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := genRule().Draw(t, "rule")
		k := &key{tb: t, stored: spec, used: true, bucket: limit.Spent(spec, epoch)}
		d := k.one(spec, epoch)
		if d.Allowed != 0 || d.Remaining != 0 {
			t.Fatalf("a spent bucket admits: %+v", d)
		}
		full := &key{tb: t}
		taken := full.decide(spec, epoch, limit.Request{Cost: spec.Capacity()})
		if taken.ResetMS != d.ResetMS {
			t.Fatalf("full again in %d ms, want %d", d.ResetMS, taken.ResetMS)
		}
	})
}
