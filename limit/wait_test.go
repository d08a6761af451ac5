package limit_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/limit"
)

// drive brings a key into some state under one of the rules.
func drive(t *rapid.T, k *key, rules []limit.Spec, now int64, back bool) int64 {
	clock := newClock(now)
	var last limit.Decision
	for range rapid.IntRange(0, 20).Draw(t, "steps") {
		spec := rapid.SampledFrom(rules).Draw(t, "rule")
		now = clock.step(t, spec, last, back)
		last = k.decide(spec, now, genRequest(spec.Capacity()).Draw(t, "request"))
	}
	return now
}

// anyRules draws one rule or several, of any size.
func anyRules(t *rapid.T) []limit.Spec {
	return rapid.SliceOfN(rapid.OneOf(genSmallRule(), genRule()), 1, 3).Draw(t, "rules")
}

// TestWaitIsExact: denied now, denied 1 ms before the wait is over, admitted
// at it; in every state, also where the rule changes with the request.
func TestWaitIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := anyRules(t)
		k := &key{tb: t}
		now := drive(t, k, rules, epoch, rapid.Bool().Draw(t, "back"))
		spec := rapid.SampledFrom(rules).Draw(t, "rule")
		req := genRequest(spec.Capacity()).Filter(func(r limit.Request) bool { return r.Cost > 0 }).Draw(t, "request")

		d := k.decide(spec, now, req)
		switch {
		case d.Allowed > 0:
			if d.WaitMS != 0 && spec.Algorithm != limit.LeakyBucket {
				t.Fatalf("admitted with a wait: %+v", d)
			}
			return
		case req.Cost > spec.Capacity() && !req.AtMost:
			if d.WaitMS != -1 {
				t.Fatalf("a cost above the capacity may wait: %+v", d)
			}
			return
		case d.WaitMS < 1:
			t.Fatalf("denied without a wait: %+v", d)
		}
		if early := k.decide(spec, now+(d.WaitMS-1)*ms, req); early.Allowed > 0 {
			t.Fatalf("%+v, but admitted 1 ms before the wait is over: %+v", d, early)
		}
		if due := k.decide(spec, now+d.WaitMS*ms, req); due.Allowed == 0 {
			t.Fatalf("%+v, but denied after the wait: %+v", d, due)
		}
	})
}

// TestResetIsExact: after it the key is as new, and 1 ms before it is not.
func TestResetIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := anyRules(t)
		k := &key{tb: t}
		now := drive(t, k, rules, epoch, rapid.Bool().Draw(t, "back"))
		spec := rapid.SampledFrom(rules).Draw(t, "rule")
		req := genRequest(spec.Capacity()).Filter(func(r limit.Request) bool { return !r.Peek }).Draw(t, "request")

		d := k.decide(spec, now, req)
		if d.ResetMS > 0 {
			if early := now + (d.ResetMS-1)*ms; k.fullIn(early) == 0 {
				t.Fatalf("%+v, but as new 1 ms before the reset", d)
			}
		}
		due := now + d.ResetMS*ms
		if left := k.fullIn(due); left != 0 {
			t.Fatalf("%+v, but full only in another %d ns", d, left)
		}
		asNew(t, k, rules, due)
	})
}

// asNew compares a full key with one that never was.
func asNew(t *rapid.T, k *key, rules []limit.Spec, now int64) {
	fresh := &key{tb: t}
	for range rapid.IntRange(1, 5).Draw(t, "later requests") {
		spec := rapid.SampledFrom(rules).Draw(t, "rule")
		req := genRequest(spec.Capacity()).Draw(t, "request")
		if got, want := k.decide(spec, now, req), fresh.decide(spec, now, req); got != want {
			t.Fatalf("%+v of %+v at %d: %+v of a full key, %+v of a new one", req, spec, now, got, want)
		}
		now += rapid.Int64Range(0, 2*spec.Window).Draw(t, "step")
	}
}

// TestPeekAnswersWhatTheRequestWouldGet.
func TestPeekAnswersWhatTheRequestWouldGet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := anyRules(t)
		k := &key{tb: t}
		now := drive(t, k, rules, epoch, rapid.Bool().Draw(t, "back"))
		spec := rapid.SampledFrom(rules).Draw(t, "rule")
		req := genRequest(spec.Capacity()).Draw(t, "request")

		req.Peek = true
		peeked := k.decide(spec, now, req)
		req.Peek = false
		if taken := k.decide(spec, now, req); taken != peeked {
			t.Fatalf("%+v of %+v: %+v when peeking, then %+v", req, spec, peeked, taken)
		}
	})
}

// TestCostZeroOnlyLooks: it is always allowed and shows the key as it is.
func TestCostZeroOnlyLooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := anyRules(t)
		k := &key{tb: t}
		now := drive(t, k, rules, epoch, rapid.Bool().Draw(t, "back"))
		spec := rapid.SampledFrom(rules).Draw(t, "rule")

		d := k.decide(spec, now, limit.Request{})
		if d.Allowed != 1 {
			t.Fatalf("denied: %+v", d)
		}
		got := k.decide(spec, now, limit.Request{Cost: limit.MaxUnits, AtMost: true, Peek: true})
		if got.Allowed != d.Remaining {
			t.Fatalf("%d remain, but %d could pass", d.Remaining, got.Allowed)
		}
	})
}
