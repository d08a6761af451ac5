package limit_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/limit"
)

// TestDecideAgreesWithTheOracle: every field of every answer, for one key
// under changing rules, at times that also stand still and go back.
func TestDecideAgreesWithTheOracle(t *testing.T) {
	for _, rules := range []struct {
		name string
		gen  *rapid.Generator[limit.Spec]
	}{
		{"small rules", genSmallRule()},
		{"all rules", genRule()},
	} {
		t.Run(rules.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { agree(t, rules.gen) })
		})
	}
}

func agree(t *rapid.T, rules *rapid.Generator[limit.Spec]) {
	specs := rapid.SliceOfN(rules, 1, 3).Draw(t, "rules")
	clock := newClock(rapid.OneOf(
		rapid.Int64Range(0, 10),
		rapid.Int64Range(0, 8_000_000_000*second),
		rapid.Just(int64(epoch)),
	).Draw(t, "start"))

	k, o := &key{tb: t}, newOracle(specs[0])
	var last limit.Decision
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		spec := rapid.SampledFrom(specs).Draw(t, "rule")
		now := clock.step(t, spec, last, true)
		if !k.used {
			o = newOracle(spec)
		}
		if k.used && rapid.IntRange(0, 5).Draw(t, "refund") == 0 {
			refundAgrees(t, k, o, now)
		}
		req := genRequest(spec.Capacity()).Draw(t, "request")
		got, want := k.decide(spec, now, req), o.decide(spec, now, req)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%+v of %+v, kept under %+v, at %d (-want +got):\n%s", req, spec, k.stored, now, diff)
		}
		if k.used {
			if got, want := k.fullIn(now), o.wait(now, 0, 1); got != want {
				t.Fatalf("%+v at %d: full in %d ns, want %d", k.stored, now, got, want)
			}
			if got, want := limit.Remaining(k.stored, &k.bucket, now), o.free(k.stored.Capacity(), now); got != want {
				t.Fatalf("%+v at %d: remaining %d, want %d", k.stored, now, got, want)
			}
		}
		last = got
	}
}

func refundAgrees(t *rapid.T, k *key, o *oracle, now int64) {
	n := rapid.OneOf(
		rapid.Int64Range(0, 3),
		rapid.Int64Range(0, limit.MaxUnits),
	).Draw(t, "n")
	before := k.bytes()
	refunded, remaining, err := limit.Refund(k.stored, &k.bucket, now, n)
	if k.stored.Algorithm == limit.LeakyBucket {
		if !errors.Is(err, limit.ErrRefundLeaky) || k.bytes() != before {
			t.Fatalf("refund of a leaky-bucket: %v, %s", err, k.bytes())
		}
		return
	}
	if want := o.refund(now, n); err != nil || refunded != want {
		t.Fatalf("%+v at %d: refund of %d gave back %d, %v, want %d", k.stored, now, n, refunded, err, want)
	}
	if want := o.free(k.stored.Capacity(), now); remaining != want {
		t.Fatalf("%+v at %d: after a refund %d remain, want %d", k.stored, now, remaining, want)
	}
	if refunded == 0 && k.bytes() != before {
		t.Fatalf("%+v at %d: a refund of nothing changed %s to %s", k.stored, now, before, k.bytes())
	}
}
