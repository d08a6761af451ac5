package limit

import "strings"

// algorithm is the record of one algorithm: all that distinguishes it. Every
// function trusts its Spec; `now` may be earlier than what the bucket holds.
type algorithm struct {
	name string // on the wire

	// windowed: the capacity is the limit, so a burst has no meaning, and the
	// state stays good when only the limit changes.
	windowed bool

	// queue: an admitted request has a turn, the time until the bucket would
	// have been full without it.
	queue bool

	// used is what is in use at now: whole units and part/Window of a unit,
	// part < Window. It never grows with now.
	used func(spec Spec, b Bucket, now int64) (whole, part int64)

	// until is how many nanoseconds after now used first is room or less,
	// rounded up. It is asked only where used is more than that.
	until func(spec Spec, b Bucket, now, room int64) int64

	// fullIn is how many nanoseconds after now the key is as new if n more
	// units are taken now, rounded up.
	fullIn func(spec Spec, b Bucket, now, n int64) int64

	// take is the bucket after n > 0 units more.
	take func(spec Spec, b Bucket, now, n int64) Bucket

	// give is the bucket after up to n units less, and how many. n is 1 up to
	// what is used, rounded up. Nil: what was admitted cannot be given back.
	give func(spec Spec, b Bucket, now, n int64) (Bucket, int64)

	// start is a bucket of which whole units and part/per of a unit are in use
	// at now; none: it is as new. Only between buckets is part other than 0.
	start func(spec Spec, now, whole, part, per int64) Bucket
}

// algorithms is the table, in the order of the constants.
var algorithms = [AlgorithmCount]algorithm{
	TokenBucket:   tokenBucket,
	LeakyBucket:   leakyBucket,
	SlidingLog:    slidingLog,
	SlidingWindow: slidingWindow,
	FixedWindow:   fixedWindow,
}

// Algorithms returns all algorithms in the order of their table.
func Algorithms() []Algorithm {
	all := make([]Algorithm, AlgorithmCount)
	for i := range all {
		all[i] = Algorithm(i)
	}
	return all
}

// String returns the name on the wire, such as "token-bucket".
func (a Algorithm) String() string {
	if a >= AlgorithmCount {
		return "unknown"
	}
	return algorithms[a].name
}

// ParseAlgorithm returns the algorithm of that name; case does not matter. An
// unknown name is an *ArgError that lists the names.
func ParseAlgorithm(name []byte) (Algorithm, error) {
	for i := range algorithms {
		want := algorithms[i].name
		// With the same length, so that the conversion stays on the stack.
		if len(name) == len(want) && strings.EqualFold(string(name), want) {
			return Algorithm(i), nil
		}
	}
	return 0, errAlgorithm()
}

func errAlgorithm() error {
	names := make([]string, 0, AlgorithmCount)
	for i := range algorithms {
		names = append(names, algorithms[i].name)
	}
	return &ArgError{Arg: "ALGO", Msg: "must be one of " + strings.Join(names, ", ")}
}
