package state

import "github.com/rlserver/rlserver/limit"

// Record is one bucket as it leaves a store and enters another: a file, a
// replica, the next owner of a slot. Its instants are of the clock of whoever
// holds it, Unix nanoseconds.
type Record struct {
	Key    []byte
	Policy bool // a policy's bucket, none of RL.ALLOW's keys
	Strict bool // it must never be forgotten while it has debt
	Spec   limit.Spec
	Bucket limit.Bucket

	// Gone: the key was deleted. It has neither Spec nor Bucket.
	Gone bool
	// All goes with Gone: not one key but everything in the slot is gone, of
	// both kinds. What is left of it follows. Key is not used.
	All bool
}
