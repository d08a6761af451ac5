// Package limit decides whether a request may pass. It holds the algorithms
// as pure functions of (spec, bucket, now, cost): no clock, no lock, no I/O,
// no floats. Whoever stores the buckets calls it with the time it wants.
//
// Time is Unix nanoseconds, 0 or more. It may stand still, jump, and go back:
// a bucket never gains units by it. All arithmetic is exact, in integers of up
// to 128 bits, and results that do not fit saturate.
//
// Each algorithm is one file that defines one record, and one line in the
// table in algorithm.go; decide.go holds what is common to all.
package limit

// Algorithm names one way to count. The zero value is the default.
type Algorithm uint8

// The algorithms, in the order of their table.
const (
	TokenBucket Algorithm = iota
	LeakyBucket
	SlidingLog
	SlidingWindow
	FixedWindow
)

// AlgorithmCount is how many algorithms there are: they are 0..AlgorithmCount-1.
const AlgorithmCount = 5

// Bounds of the numbers a caller may give.
const (
	MaxUnits  = 1_000_000_000_000               // limit, burst and cost: 1e12 units
	MinWindow = 1_000_000                       // 1 ms, in nanoseconds
	MaxWindow = 366 * 24 * 3600 * 1_000_000_000 // 366 days, in nanoseconds
)

// Spec is one rule: Limit units are earned per Window, at most Burst pass at
// once. Build it with Bounds.Spec, which checks it; the functions of this
// package trust what they are given. Specs are comparable with ==.
type Spec struct {
	Limit     int64 // units per Window, 1..MaxUnits
	Window    int64 // nanoseconds, MinWindow..MaxWindow
	Burst     int64 // capacity in units, 1..MaxUnits; Limit for the window algorithms
	Algorithm Algorithm
}

// Request is what is asked of a bucket.
type Request struct {
	Cost   int64 // units, 0..MaxUnits; 0 only looks
	AtMost bool  // grant what is there, up to Cost, instead of all or nothing
	Peek   bool  // answer what Cost would get, and take nothing
}

// Decision is the answer to a Request, in the wire's units.
type Decision struct {
	Allowed   int64 // 1 or 0; with AtMost the units granted, 0..Cost
	Limit     int64 // the capacity
	Remaining int64 // whole units that could pass now, after this request; 0..Limit
	WaitMS    int64 // milliseconds, rounded up; -1: never
	ResetMS   int64 // milliseconds until the key is as new, rounded up
}

// Bucket is the state of one key. The zero value is a new key: full. A is an
// instant for every algorithm that uses it; what else A, B and C mean is each
// algorithm's own. A copy shares the Log.
type Bucket struct {
	A, B, C int64
	Log     *Log // sliding-log only, else nil
}
