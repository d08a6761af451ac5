package limit

// leakyBucket: the token bucket's state read as a queue of at most Burst
// units, the one whose turn it is included, whose turns are Window/Limit
// apart. An admitted request is told when its first unit's turn is.
//
// Bucket: A and B are the instant at which the queue is empty, see debt.go.
var leakyBucket = algorithm{
	name:   "leaky-bucket",
	queue:  true,
	used:   debtUsed,
	until:  debtUntil,
	fullIn: debtFullIn,
	take:   debtTake,
	start:  debtStart,
}
