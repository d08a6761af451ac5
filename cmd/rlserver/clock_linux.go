package main

import "golang.org/x/sys/unix"

// newBoottime returns the clock of leases: nanoseconds, also of the time that
// the machine slept, during which Go's clock stands still.
func newBoottime() func() int64 {
	return func() int64 {
		var t unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
			return 1 << 62 // every lease is over: nobody may serve by a clock that cannot be read
		}
		return t.Nano()
	}
}
