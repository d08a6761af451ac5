package limit_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/rlserver/rlserver/limit"
)

// The complaints of other limiters' users that concern arithmetic, each with
// the issue it was seen in. Most are instances of a property that is tested in
// general elsewhere; these are the numbers people ran into.

// redis-cell#56: Retry-After was rounded down, so waiting it earned another
// denial. Waiting exactly wait_ms is admitted.
func TestCase_WaitingExactlyTheWaitIsAdmitted(t *testing.T) {
	spec := rule(t, limit.TokenBucket, 3, second, 1) // a unit takes 333 1/3 ms
	k, now := &key{tb: t}, int64(epoch)
	for range 1000 {
		k.one(spec, now)
		d := k.one(spec, now)
		if d.WaitMS != 334 {
			t.Fatalf("the wait is %d ms, want 334", d.WaitMS)
		}
		now += d.WaitMS * ms
		if d := k.decide(spec, now, limit.Request{Cost: 1, Peek: true}); d.Allowed != 1 {
			t.Fatalf("denied after the wait: %+v", d)
		}
	}
}

// redis-cell#12, #13: 100 per second with a burst of 10 let 130 per second
// through.
func TestCase_AThousandCallsAreAdmittedAtTheRate(t *testing.T) {
	spec := rule(t, limit.TokenBucket, 100, second, 10)
	k, passed := &key{tb: t}, int64(0)
	for i := range int64(1000) { // over 2 s
		passed += k.one(spec, epoch+i*2*ms).Allowed
	}
	if want := 10 + earned(100, second, 999*2*ms); passed != want {
		t.Errorf("%d passed, want %d", passed, want)
	}
}

// redis-cell#50: `1000 1000 60` never limited, and (6000, 6000, 1) showed more
// remaining than the capacity.
func TestCase_RemainingFallsByTheCost(t *testing.T) {
	for _, spec := range []limit.Spec{
		rule(t, limit.TokenBucket, 1000, minute, 1001),
		rule(t, limit.TokenBucket, 6000, second, 6001),
	} {
		k := &key{tb: t}
		for left := spec.Capacity() - 1; left >= 0; left-- {
			if d := k.one(spec, epoch); d.Allowed != 1 || d.Remaining != left {
				t.Fatalf("%+v: got %+v, want %d remaining", spec, d, left)
			}
		}
		if d := k.one(spec, epoch); d.Allowed != 0 {
			t.Errorf("%+v never limits: %+v", spec, d)
		}
	}
}

// dragonfly#1008: the reset was a second too long.
func TestCase_ResetIsNotTooLong(t *testing.T) {
	spec := rule(t, limit.TokenBucket, 10, second, 0)
	if d := new(key).ask1(spec, epoch); d.ResetMS != 100 {
		t.Errorf("a unit of 100 ms is back after %d ms", d.ResetMS)
	}
}

// ask1 asks for one unit, for tests of numbers alone.
func (k *key) ask1(spec limit.Spec, now int64) limit.Decision {
	d, _ := k.ask(spec, now, limit.Request{Cost: 1})
	return d
}

// redis#15113, throttled#97, bucket4j#20: a cost above the capacity gave a
// finite wait, misleading fields, or a silent grant.
func TestCase_CostAboveTheCapacityNeverPasses(t *testing.T) {
	for _, a := range limit.Algorithms() {
		spec := rule(t, a, 10, second, 0)
		k := &key{tb: t}
		want := limit.Decision{Allowed: 0, Limit: 10, Remaining: 10, WaitMS: -1, ResetMS: 0}
		if d := k.decide(spec, epoch, limit.Request{Cost: 11}); d != want {
			t.Errorf("%v: got %+v, want %+v", a, d, want)
		}
		if d := k.decide(spec, epoch, limit.Request{Cost: 11, AtMost: true}); d.Allowed != 10 {
			t.Errorf("%v: with ATMOST got %+v, want 10 units", a, d)
		}
	}
}

// redis_rate#33: with a million per hour, remaining did not move, for floats.
func TestCase_LargeLimitsCountEveryUnit(t *testing.T) {
	for units := int64(1_000_000); units <= limit.MaxUnits; units *= 10 {
		for _, a := range []limit.Algorithm{limit.TokenBucket, limit.LeakyBucket, limit.SlidingWindow, limit.FixedWindow} {
			spec := rule(t, a, units, hour, 0)
			k := &key{tb: t}
			for left := units - 1; left > units-100; left-- {
				if d := k.one(spec, epoch); d.Remaining != left {
					t.Fatalf("%v of %d: %d remain, want %d", a, units, d.Remaining, left)
				}
			}
		}
	}
}

// uber-go/ratelimit#119: after a pause there was no limit at all.
// bucket4j#51: idle for 12 hours, the level became negative.
func TestCase_AfterAnyPauseTheBurstIsTheBurst(t *testing.T) {
	for _, a := range limit.Algorithms() {
		for _, pause := range []int64{2 * second, 12 * hour, 366 * day, 100 * 366 * day} {
			spec := rule(t, a, 10, second, 0)
			k := &key{tb: t}
			k.decide(spec, epoch, limit.Request{Cost: 10})
			now := epoch + pause
			if d := k.decide(spec, now, limit.Request{Cost: 10}); d.Allowed != 1 || d.Remaining != 0 {
				t.Errorf("%v, idle for %d ns: got %+v, want all 10", a, pause, d)
			}
			if d := k.one(spec, now); d.Allowed != 0 {
				t.Errorf("%v, idle for %d ns: more than the burst passes: %+v", a, pause, d)
			}
		}
	}
}

// golang/go#71154: results differed between architectures. Floats may be
// fused differently; this package has none.
func TestCase_NoFloats(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		read++
		file, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if strings.HasPrefix(n.Name, "float") || strings.HasPrefix(n.Name, "complex") {
					t.Errorf("%s uses %s", f.Name(), n.Name)
				}
			case *ast.BasicLit:
				if n.Kind == token.FLOAT || n.Kind == token.IMAG {
					t.Errorf("%s uses %s", f.Name(), n.Value)
				}
			}
			return true
		})
	}
	if read == 0 {
		t.Fatal("read no file")
	}
}

// gubernator#118, #77, #87: the leak doubled, or stalled while the key was
// hit, and remaining rose above the limit.
func TestCase_HitsNeitherSpeedNorStallTheLeak(t *testing.T) {
	for _, a := range []limit.Algorithm{limit.TokenBucket, limit.LeakyBucket} {
		spec := rule(t, a, 10, second, 0)
		k, now := &key{tb: t}, int64(epoch)
		k.decide(spec, now, limit.Request{Cost: 10})
		for span := int64(1); span < 1000; span++ { // a denied hit each ms
			k.decide(spec, now+span*ms, limit.Request{Cost: 10})
			if left := limit.Remaining(spec, &k.bucket, now+span*ms); left != span/100 {
				t.Fatalf("%v: after %d ms %d remain, want %d", a, span, left, span/100)
			}
		}
	}
}

// gubernator#20, envoyproxy/ratelimit#1060: denied hits consumed units, so a
// caller that kept asking was never served again.
func TestCase_DenialsConsumeNothing(t *testing.T) {
	for _, a := range limit.Algorithms() {
		spec := rule(t, a, 10, second, 0)
		k := &key{tb: t}
		k.decide(spec, epoch, limit.Request{Cost: 10})
		first := k.one(spec, epoch)
		for range 10_000 {
			k.ask1(spec, epoch)
		}
		if d := k.one(spec, epoch); d != first {
			t.Errorf("%v: %+v became %+v", a, first, d)
		}
	}
}

// envoyproxy/ratelimit#185, bucket4j#539, tbmq#355: raising a limit did not
// reach keys in use.
func TestCase_ARaisedLimitHelpsAtOnce(t *testing.T) {
	for _, a := range limit.Algorithms() {
		k := &key{tb: t}
		k.decide(rule(t, a, 10, minute, 0), epoch, limit.Request{Cost: 10})
		if d := k.one(rule(t, a, 20, minute, 0), epoch); d.Allowed != 1 || d.Remaining != 9 {
			t.Errorf("%v: got %+v, want 9 of 20 remaining", a, d)
		}
	}
}

// envoyproxy/ratelimit#32: twice the limit passed around a boundary. That is
// what fixed-window does; the other algorithms do not.
func TestCase_AroundABoundary(t *testing.T) {
	boundary := int64(epoch) + 40*second
	if boundary%minute != 0 {
		t.Fatal("not a boundary")
	}
	for _, c := range []struct {
		algorithm limit.Algorithm
		after     int64 // what passes 1 ms after it, when all passed 1 ms before it
	}{
		{limit.TokenBucket, 0},
		{limit.LeakyBucket, 0},
		{limit.SlidingLog, 0},
		{limit.SlidingWindow, 0},
		{limit.FixedWindow, 100},
	} {
		spec := rule(t, c.algorithm, 100, minute, 0)
		k := &key{tb: t}
		all := limit.Request{Cost: 200, AtMost: true}
		if d := k.decide(spec, boundary-1*ms, all); d.Allowed != 100 {
			t.Errorf("%v before the boundary: %+v, want 100", c.algorithm, d)
		}
		if d := k.decide(spec, boundary+1*ms, all); d.Allowed != c.after {
			t.Errorf("%v after the boundary: %+v, want %d", c.algorithm, d, c.after)
		}
	}
}

// ar-io-node#489: a roll-back returned more than had been taken.
func TestCase_ARefundReturnsNoMoreThanWasTaken(t *testing.T) {
	for _, a := range []limit.Algorithm{limit.TokenBucket, limit.SlidingLog, limit.SlidingWindow, limit.FixedWindow} {
		k := &key{tb: t}
		k.decide(rule(t, a, 10, minute, 0), epoch, limit.Request{Cost: 3})
		if n, left := k.refund(epoch, 100); n != 3 || left != 10 {
			t.Errorf("%v: gave back %d, %d remain; want 3, 10", a, n, left)
		}
		if n, left := k.refund(epoch, 100); n != 0 || left != 10 {
			t.Errorf("%v: gave back %d more, %d remain; want 0, 10", a, n, left)
		}
	}
}

// redis-cell#41: `0 0 60` crashed the server. It is an error.
func TestCase_ZeroIsAnError(t *testing.T) {
	for _, c := range [][3]int64{{0, minute, 0}, {0, 0, 0}, {1, 0, 0}, {0, minute, 1}} {
		if _, err := limit.DefaultBounds().Spec(limit.TokenBucket, c[0], c[1], c[2]); err == nil {
			t.Errorf("limit %d, window %d, burst %d is taken as good", c[0], c[1], c[2])
		}
	}
}

// redis#15093: rounding a duration up by adding 999 overflowed.
func TestCase_LongestTimesDoNotOverflow(t *testing.T) {
	spec := rule(t, limit.TokenBucket, 1, limit.MaxWindow, 199) // 199 * 366 days
	for _, now := range []int64{0, epoch, math.MaxInt64 - 1, math.MaxInt64} {
		k := &key{tb: t}
		d := k.decide(spec, now, limit.Request{Cost: 199})
		if want := int64(199 * limit.MaxWindow / ms); d.ResetMS != want {
			t.Errorf("at %d: reset in %d ms, want %d", now, d.ResetMS, want)
		}
		d = k.decide(spec, now, limit.Request{Cost: 199})
		if want := int64(199 * limit.MaxWindow / ms); d.WaitMS != want {
			t.Errorf("at %d: wait %d ms, want %d", now, d.WaitMS, want)
		}
	}
}
