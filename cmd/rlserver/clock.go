package main

import "time"

// newClock returns the server's clock: Unix nanoseconds that never go back.
// It is anchored to the wall clock once; from then on the monotonic clock
// carries it, so that a wall clock that is set moves no bucket.
func newClock() func() int64 {
	anchor := time.Now()
	unix := anchor.UnixNano()
	return func() int64 { return unix + int64(time.Since(anchor)) }
}
