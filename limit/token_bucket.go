package limit

// tokenBucket: a bucket of Burst units that earns Limit units per Window. In
// any time T a key passes at most Burst + Limit*T/Window units, and a caller
// who always asks gets exactly the floor of that.
//
// Bucket: A and B are the instant at which it is full, see debt.go.
var tokenBucket = algorithm{
	name:   "token-bucket",
	used:   debtUsed,
	until:  debtUntil,
	fullIn: debtFullIn,
	take:   debtTake,
	give:   debtGive,
	start:  debtStart,
}
