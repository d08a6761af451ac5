//go:build !linux

package main

import "time"

// newBoottime returns the clock of leases. Here it stands still while the
// machine sleeps: a cluster must not run on one that does.
func newBoottime() func() int64 {
	begun := time.Now()
	return func() int64 { return int64(time.Since(begun)) + 1 }
}
