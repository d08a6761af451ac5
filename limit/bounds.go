package limit

import "fmt"

// maxRefill is the longest time from empty to full, in nanoseconds: 73,000
// days. With it every such time fits int64.
const maxRefill = 73_000 * 24 * 3600 * 1_000_000_000

// ArgError says which of the caller's arguments is out of bounds, and what is
// allowed. All errors of checks in this package are *ArgError.
type ArgError struct {
	Arg string // the argument's word on the wire: limit, window, burst, cost, ATMOST, ALGO
	Msg string // what is wrong and what is allowed
}

func (e *ArgError) Error() string { return e.Arg + " " + e.Msg }

// Bounds are the limits of rules that an operator may choose. The zero value
// allows no sliding-log.
type Bounds struct {
	MaxLog int64 // the largest limit, in units, that a sliding-log may have
}

// DefaultBounds returns the bounds of a server without flags.
func DefaultBounds() Bounds { return Bounds{MaxLog: 100_000} }

// Spec checks a rule and builds it: limit units per window nanoseconds, at
// most burst at once. A burst of 0 means the default, which is limit.
//
// Limit and burst are 1..MaxUnits, window is MinWindow..MaxWindow, and the
// time from empty to full, burst*window/limit, is at most 73,000 days. The
// window algorithms know no burst other than limit. Errors are *ArgError.
func (b Bounds) Spec(a Algorithm, limit, window, burst int64) (Spec, error) {
	switch {
	case a >= AlgorithmCount:
		return Spec{}, errAlgorithm()
	case limit < 1 || limit > MaxUnits:
		return Spec{}, argError("limit", "must be between 1 and %d, got %d", int64(MaxUnits), limit)
	case window < MinWindow || window > MaxWindow:
		return Spec{}, argError("window", "must be between 1ms and 366d, got %d ns", window)
	case burst < 0 || burst > MaxUnits:
		return Spec{}, argError("burst", "must be between 1 and %d, or 0 for the default, got %d", int64(MaxUnits), burst)
	case algorithms[a].windowed && burst != 0 && burst != limit:
		return Spec{}, argError("burst", "must be the limit, %d, or be left out with %s, got %d", limit, a, burst)
	case a == SlidingLog && limit > b.MaxLog:
		return Spec{}, argError("limit", "must be at most %d with %s, got %d: use %s instead", b.MaxLog, a, limit, SlidingWindow)
	}
	if burst == 0 {
		burst = limit
	}
	if earned := product(limit, maxRefill); !product(burst, window).atMost(earned) {
		most, _ := earned.quoRem(window)
		return Spec{}, argError("burst", "must be at most %d, what 73000 days earn at this limit and window, got %d", most, burst)
	}
	return Spec{Limit: limit, Window: window, Burst: burst, Algorithm: a}, nil
}

// Capacity is the most units that pass at once.
func (s Spec) Capacity() int64 { return s.Burst }

// Check returns an *ArgError if the request is out of bounds: a cost outside
// 0..MaxUnits, or AtMost of nothing.
func (r Request) Check() error {
	switch {
	case r.Cost < 0 || r.Cost > MaxUnits:
		return argError("cost", "must be between 0 and %d, got %d", int64(MaxUnits), r.Cost)
	case r.AtMost && r.Cost == 0:
		return argError("ATMOST", "needs a COST of at least 1")
	}
	return nil
}

func argError(arg, format string, args ...any) *ArgError {
	return &ArgError{Arg: arg, Msg: fmt.Sprintf(format, args...)}
}
