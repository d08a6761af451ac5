package limit_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/rlserver/rlserver/limit"
)

func TestSpec(t *testing.T) {
	for _, c := range []struct {
		a                    limit.Algorithm
		units, window, burst int64
		want                 string // the error; empty: a good rule
	}{
		{limit.TokenBucket, 1, limit.MinWindow, 1, ""},
		{limit.TokenBucket, limit.MaxUnits, limit.MaxWindow, limit.MaxUnits, ""},
		{limit.TokenBucket, limit.MaxUnits, limit.MinWindow, 0, ""},
		{limit.TokenBucket, 1, limit.MaxWindow, 199, ""},
		{limit.LeakyBucket, 100, second, 20, ""},
		{limit.SlidingLog, 100_000, second, 0, ""},
		{limit.SlidingWindow, 100, second, 100, ""},
		{limit.FixedWindow, limit.MaxUnits, second, 0, ""},

		{limit.TokenBucket, 0, second, 0, "limit must be between 1 and 1000000000000, got 0"},
		{limit.TokenBucket, -5, second, 0, "limit must be between 1 and 1000000000000, got -5"},
		{limit.TokenBucket, limit.MaxUnits + 1, second, 0, "limit must be between 1 and 1000000000000, got 1000000000001"},
		{limit.TokenBucket, 1, 0, 0, "window must be between 1ms and 366d, got 0 ns"},
		{limit.TokenBucket, 1, limit.MinWindow - 1, 0, "window must be between 1ms and 366d, got 999999 ns"},
		{limit.TokenBucket, 1, limit.MaxWindow + 1, 0, "window must be between 1ms and 366d, got 31622400000000001 ns"},
		{limit.TokenBucket, 1, second, -1, "burst must be between 1 and 1000000000000, or 0 for the default, got -1"},
		{limit.TokenBucket, 1, second, limit.MaxUnits + 1, "burst must be between 1 and 1000000000000, or 0 for the default, got 1000000000001"},
		{limit.TokenBucket, 1, limit.MaxWindow, 200, "burst must be at most 199, what 73000 days earn at this limit and window, got 200"},
		{limit.LeakyBucket, 1, second, limit.MaxUnits, "burst must be at most 6307200000, what 73000 days earn at this limit and window, got 1000000000000"},
		{limit.SlidingLog, 100_001, second, 0, "limit must be at most 100000 with sliding-log, got 100001: use sliding-window instead"},
		{limit.SlidingLog, 100, second, 20, "burst must be the limit, 100, or be left out with sliding-log, got 20"},
		{limit.SlidingWindow, 100, second, 101, "burst must be the limit, 100, or be left out with sliding-window, got 101"},
		{limit.FixedWindow, 100, second, 1, "burst must be the limit, 100, or be left out with fixed-window, got 1"},
		{limit.AlgorithmCount, 100, second, 0, "ALGO must be one of token-bucket, leaky-bucket, sliding-log, sliding-window, fixed-window"},
	} {
		spec, err := limit.DefaultBounds().Spec(c.a, c.units, c.window, c.burst)
		if c.want != "" {
			checkArgError(t, err, c.want)
			if spec != (limit.Spec{}) {
				t.Errorf("%v beside the error %q", spec, c.want)
			}
			continue
		}
		burst := c.burst
		if burst == 0 {
			burst = c.units
		}
		want := limit.Spec{Limit: c.units, Window: c.window, Burst: burst, Algorithm: c.a}
		if err != nil || spec != want || spec.Capacity() != burst {
			t.Errorf("got %+v, %v, want %+v", spec, err, want)
		}
	}
}

func TestMaxLogIsTheOperators(t *testing.T) {
	if _, err := (limit.Bounds{MaxLog: 5}).Spec(limit.SlidingLog, 5, second, 0); err != nil {
		t.Errorf("at the bound: %v", err)
	}
	_, err := limit.Bounds{MaxLog: 5}.Spec(limit.SlidingLog, 6, second, 0)
	checkArgError(t, err, "limit must be at most 5 with sliding-log, got 6: use sliding-window instead")
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		req  limit.Request
		want string
	}{
		{limit.Request{}, ""},
		{limit.Request{Cost: limit.MaxUnits, AtMost: true, Peek: true}, ""},
		{limit.Request{Peek: true}, ""},
		{limit.Request{Cost: -1}, "cost must be between 0 and 1000000000000, got -1"},
		{limit.Request{Cost: math.MaxInt64}, "cost must be between 0 and 1000000000000, got 9223372036854775807"},
		{limit.Request{AtMost: true}, "ATMOST needs a COST of at least 1"},
	} {
		err := c.req.Check()
		if c.want != "" {
			checkArgError(t, err, c.want)
		} else if err != nil {
			t.Errorf("%+v: %v", c.req, err)
		}
	}
}

// checkArgError wants an *ArgError with this text, whose first word is the
// argument.
func checkArgError(t *testing.T, err error, want string) {
	t.Helper()
	var bad *limit.ArgError
	if !errors.As(err, &bad) {
		t.Errorf("got %v, want an ArgError: %s", err, want)
		return
	}
	if word, _, _ := strings.Cut(want, " "); bad.Error() != want || bad.Arg != word {
		t.Errorf("got %q about %q, want %q", bad, bad.Arg, want)
	}
}

func TestAlgorithmNames(t *testing.T) {
	if got := len(limit.Algorithms()); got != limit.AlgorithmCount {
		t.Fatalf("%d algorithms, want %d", got, limit.AlgorithmCount)
	}
	for _, a := range limit.Algorithms() {
		name := a.String()
		for _, name := range []string{name, strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:]} {
			if got, err := limit.ParseAlgorithm([]byte(name)); got != a || err != nil {
				t.Errorf("ParseAlgorithm(%q) = %v, %v, want %v", name, got, err, a)
			}
		}
	}
	const want = "ALGO must be one of token-bucket, leaky-bucket, sliding-log, sliding-window, fixed-window"
	for _, name := range []string{"", "gcra", "token", "token-bucket ", "token_bucket", "unknown", "to\u212Aen-bucket"} {
		_, err := limit.ParseAlgorithm([]byte(name))
		checkArgError(t, err, want)
	}
	if got := limit.Algorithm(200).String(); got != "unknown" {
		t.Errorf("an algorithm that does not exist is called %q", got)
	}
	if limit.TokenBucket != 0 {
		t.Error("token-bucket is the default, so it must be the zero value")
	}
}
