package limit_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/limit"
)

// BytesAfter says beforehand what Bytes says after an admission.
func TestLogBytesAfter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := limit.Spec{Algorithm: limit.SlidingLog, Limit: rapid.Int64Range(1, 40).Draw(t, "limit"), Window: 1000}
		spec.Burst = spec.Limit
		var b limit.Bucket
		now := int64(1_000_000)
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			now += rapid.SampledFrom([]int64{0, 1, 10, 500, 1000, -3}).Draw(t, "step")
			told := b.Log.BytesAfter(spec, now)
			_, taken := limit.Decide(spec, spec, &b, now, limit.Request{Cost: rapid.Int64Range(1, 3).Draw(t, "cost")})
			if taken && b.Log.Bytes() != told {
				t.Fatalf("%d bytes, %d were told", b.Log.Bytes(), told)
			}
		}
	})
}
