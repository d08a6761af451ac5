package limit_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/limit"
)

func (k *key) refund(now, n int64) (refunded, remaining int64) {
	k.tb.Helper()
	refunded, remaining, err := limit.Refund(k.stored, &k.bucket, now, n)
	if err != nil {
		k.tb.Fatalf("refund of %d to %+v: %v", n, k.stored, err)
	}
	return refunded, remaining
}

// TestRefundNeverBeyondFull, and never more than was used.
func TestRefundNeverBeyondFull(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := []limit.Spec{genRule(limit.TokenBucket, limit.SlidingLog, limit.SlidingWindow, limit.FixedWindow).Draw(t, "rule")}
		k := &key{tb: t, stored: rules[0]}
		now := drive(t, k, rules, epoch, rapid.Bool().Draw(t, "back"))
		before := limit.Remaining(k.stored, &k.bucket, now)
		n := rapid.Int64Range(-1, limit.MaxUnits).Draw(t, "n")
		refunded, remaining := k.refund(now, n)
		switch {
		case refunded < 0 || refunded > max(n, 0):
			t.Fatalf("refund of %d gave back %d", n, refunded)
		case remaining > k.stored.Capacity():
			t.Fatalf("%d remain of %d", remaining, k.stored.Capacity())
		case remaining > before+refunded:
			t.Fatalf("%d remained, %d were given back, now %d remain", before, refunded, remaining)
		}
	})
}

func TestRefund(t *testing.T) {
	const now = epoch
	for _, c := range []struct {
		name                string
		rule                limit.Spec
		takes               []admission // relative to now
		n                   int64
		refunded, remaining int64
		fullIn              int64
	}{
		{"token", rule(t, limit.TokenBucket, 10, 10*second, 0), []admission{{0, 4}}, 3, 3, 9, second},
		{"token, more than used", rule(t, limit.TokenBucket, 10, 10*second, 0), []admission{{0, 4}}, 9, 4, 10, 0},
		{"token, a broken unit", rule(t, limit.TokenBucket, 10, 10*second, 0), []admission{{-500 * ms, 2}}, 9, 2, 10, 0},
		{"token, full", rule(t, limit.TokenBucket, 10, 10*second, 0), []admission{{-hour, 4}}, 1, 0, 10, 0},
		{"log, newest first", rule(t, limit.SlidingLog, 10, minute, 0), []admission{{-30 * second, 2}, {-20 * second, 3}, {0, 4}}, 5, 5, 6, 40 * second},
		{"log, only what counts", rule(t, limit.SlidingLog, 10, minute, 0), []admission{{-61 * second, 2}, {-30 * second, 3}}, 9, 3, 10, 0},
		{"fixed, this window only", rule(t, limit.FixedWindow, 10, minute, 0), []admission{{-minute, 5}}, 9, 0, 10, 0},
		{"fixed", rule(t, limit.FixedWindow, 10, minute, 0), []admission{{-minute, 5}, {0, 5}}, 3, 3, 8, 40 * second},
		// epoch is 20 s into its minute, so two thirds of the 6 before it count.
		{"window, this window only", rule(t, limit.SlidingWindow, 10, minute, 0), []admission{{-minute, 6}, {0, 2}}, 9, 2, 6, 40 * second},
		{"new", rule(t, limit.SlidingLog, 10, minute, 0), nil, 3, 0, 10, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := &key{tb: t, stored: c.rule}
			for _, a := range c.takes {
				if d := k.decide(c.rule, now+a.at, limit.Request{Cost: a.units}); d.Allowed != 1 {
					t.Fatalf("denied: %+v", d)
				}
			}
			if n, remaining := k.refund(now, c.n); n != c.refunded || remaining != c.remaining {
				t.Errorf("gave back %d, %d remain; want %d, %d", n, remaining, c.refunded, c.remaining)
			}
			if got := k.fullIn(now); got != c.fullIn {
				t.Errorf("full in %d ns, want %d", got, c.fullIn)
			}
		})
	}
}

func TestRefundToALeakyBucketIsAnError(t *testing.T) {
	spec := rule(t, limit.LeakyBucket, 10, second, 0)
	k := &key{tb: t}
	k.decide(spec, epoch, limit.Request{Cost: 4})
	before := k.bytes()
	n, remaining, err := limit.Refund(spec, &k.bucket, epoch, 1)
	if !errors.Is(err, limit.ErrRefundLeaky) || n != 0 || remaining != 6 || k.bytes() != before {
		t.Errorf("got %d, %d, %v", n, remaining, err)
	}
}
