package limit_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/limit"
)

// golang/go#56287: calls before and after the last one minted units, again and
// again. Time never runs backwards in a bucket.
func TestCase_AClockGoingToAndFroMintsNothing(t *testing.T) {
	for _, a := range limit.Algorithms() {
		spec := rule(t, a, 10, second, 0)
		k, passed := &key{tb: t}, int64(0)
		for i := range int64(1000) {
			passed += k.ask1(spec, epoch+i%2*100*ms).Allowed
		}
		// 10, and the one that 100 ms earn where they earn anything.
		want := int64(10)
		if isBucket(a) {
			want = 11
		}
		if passed != want {
			t.Errorf("%v: %d passed within 100 ms, want %d", a, passed, want)
		}
	}
}

// go-limiter#57, #43: a clock set back wrapped and purged live keys. The key
// is neither purged nor refilled, and it is locked out for no longer than the
// clock needs to catch up, and its ordinary wait.
func TestCase_AClockSetBackNeitherRefillsNorLocksOutForLong(t *testing.T) {
	for _, a := range limit.Algorithms() {
		for _, back := range []int64{1, second, hour, 10 * 365 * day, epoch} {
			spec := rule(t, a, 10, second, 0)
			k := &key{tb: t}
			k.decide(spec, epoch, limit.Request{Cost: 10})
			ordinary := k.one(spec, epoch)

			now := epoch - back
			d := k.one(spec, now)
			if d.Allowed != 0 || d.Remaining != 0 {
				t.Errorf("%v, back by %d: refilled: %+v", a, back, d)
			}
			if k.fullIn(now) == 0 {
				t.Errorf("%v, back by %d: purged", a, back)
			}
			if most := ordinary.WaitMS + back/ms + 1; d.WaitMS > most {
				t.Errorf("%v, back by %d: locked out for %d ms, at most %d", a, back, d.WaitMS, most)
			}
			if d := k.one(spec, now+d.WaitMS*ms); d.Allowed != 1 {
				t.Errorf("%v, back by %d: denied after the wait: %+v", a, back, d)
			}
		}
	}
}

// redis-cell#31: a replica computed anew, with its own clock. State travels as
// distances from now, so on a machine whose clock shows another time it gives
// the same answers.
func TestCase_StateMovesBetweenClocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := []limit.Spec{genRule(limit.TokenBucket, limit.LeakyBucket, limit.SlidingLog).Draw(t, "rule")}
		here := &key{tb: t}
		now := drive(t, here, rules, epoch, false)
		skew := rapid.Int64Range(-epoch/2, epoch/2).Draw(t, "skew")

		there := &key{tb: t, stored: here.stored, used: here.used}
		there.bucket = limit.Bucket{A: here.bucket.A - now + (now + skew), B: here.bucket.B}
		if here.bucket.Log != nil {
			there.bucket = limit.Bucket{Log: new(limit.Log)}
			for at, units := range here.bucket.Log.All() {
				there.bucket.Log.Add(at+skew, units)
			}
		}
		for range 10 {
			req := genRequest(rules[0].Capacity()).Draw(t, "request")
			if got, want := there.decide(rules[0], now+skew, req), here.decide(rules[0], now, req); got != want {
				t.Fatalf("%+v there, %+v here", got, want)
			}
			now += rapid.Int64Range(0, rules[0].Window).Draw(t, "step")
		}
	})
}

// TestAtTheEndsOfTime nothing wraps: neither at 1970 nor at 2262.
func TestAtTheEndsOfTime(t *testing.T) {
	for _, a := range limit.Algorithms() {
		for _, start := range []int64{0, math.MaxInt64 - 3*second} {
			spec := rule(t, a, 10, second, 0)
			k := &key{tb: t}
			k.decide(spec, start, limit.Request{Cost: 10})
			d := k.one(spec, start)
			if d.Allowed != 0 || d.WaitMS < 1 || d.WaitMS > 2000 {
				t.Errorf("%v at %d: got %+v", a, start, d)
			}
			if d := k.one(spec, start+d.WaitMS*ms); d.Allowed != 1 {
				t.Errorf("%v at %d: denied after the wait: %+v", a, start, d)
			}
			if d := k.one(spec, start+3*second); d.Allowed != 1 || d.Remaining != 9 {
				t.Errorf("%v at %d: not as new after 3 windows: %+v", a, start, d)
			}
		}
		// The furthest a clock can be set back: all saturates.
		spec := rule(t, a, 10, second, 0)
		k := &key{tb: t}
		k.decide(spec, math.MaxInt64, limit.Request{Cost: 10})
		if d := k.one(spec, 0); d.Allowed == 0 && d.WaitMS < math.MaxInt64/ms {
			t.Errorf("%v: from 2262 to 1970: got %+v", a, d)
		}
	}
}
