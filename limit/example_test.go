package limit_test

import (
	"fmt"

	"github.com/rlserver/rlserver/limit"
)

// The classic trace: 10 at once, 5 per second, a unit at 0, 100 and 200 ms and
// after 100 s of silence.
func ExampleDecide() {
	spec, err := limit.DefaultBounds().Spec(limit.TokenBucket, 5, 1_000_000_000, 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	var bucket limit.Bucket // a new key
	for _, ms := range []int64{0, 100, 200, 100_200} {
		now := 1_700_000_000_000_000_000 + ms*1_000_000
		d, _ := limit.Decide(spec, spec, &bucket, now, limit.Request{Cost: 1})
		fmt.Printf("at %6d ms: %d of %d left\n", ms, d.Remaining, d.Limit)
	}
	// Output:
	// at      0 ms: 9 of 10 left
	// at    100 ms: 8 of 10 left
	// at    200 ms: 8 of 10 left
	// at 100200 ms: 9 of 10 left
}

// A denial says how long to wait, and changes nothing.
func ExampleDecide_denied() {
	spec, _ := limit.DefaultBounds().Spec(limit.SlidingLog, 2, 60_000_000_000, 0)
	var bucket limit.Bucket
	for _, cost := range []int64{2, 1} {
		d, changed := limit.Decide(spec, spec, &bucket, 0, limit.Request{Cost: cost})
		fmt.Printf("%+v changed:%v\n", d, changed)
	}
	// Output:
	// {Allowed:1 Limit:2 Remaining:0 WaitMS:0 ResetMS:60000} changed:true
	// {Allowed:0 Limit:2 Remaining:0 WaitMS:60000 ResetMS:60000} changed:false
}

func ExampleBounds_Spec() {
	_, err := limit.DefaultBounds().Spec(limit.SlidingLog, 1_000_000, 60_000_000_000, 0)
	fmt.Println(err)
	// Output: limit must be at most 100000 with sliding-log, got 1000000: use sliding-window instead
}
