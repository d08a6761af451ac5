package resp

import (
	"errors"
	"fmt"
)

// Limits bound what one session may cost. What is over a bound is answered
// with one error line, and the connection is closed; only what a MULTI may
// hold is an error that the session survives.
type Limits struct {
	MaxArgs   int // arguments of a command, its name included
	MaxBulk   int // bytes of one argument
	MaxInline int // bytes of an inline command, and of a header line
	MaxQuery  int // bytes of one command, and of what a MULTI has queued
	MaxOutput int // bytes of replies after which they must leave before more is run
	MaxBatch  int // commands after which replies must leave
	MaxMulti  int // commands a MULTI may queue
}

// The bounds of a peer that has not authenticated. AUTH and HELLO fit, with a
// user and a password of more than 1 KiB each; Redis' are 10 arguments of 16
// KiB.
const (
	maxArgsStranger   = 10
	maxQueryStranger  = 4 << 10 // bytes of a command, and of the buffer it comes to
	maxOutputStranger = 1 << 10
)

// DefaultLimits fit a rate limiter, whose keys are short: the longest command
// that makes sense is a list of 1,000 of them.
func DefaultLimits() Limits {
	return Limits{
		MaxArgs:   1024,
		MaxBulk:   64 << 10,
		MaxInline: 64 << 10, // Redis' own
		MaxQuery:  1 << 20,
		MaxOutput: 256 << 10,
		MaxBatch:  1024, // replies of a batch wait for its last command: some 0.5 ms
		MaxMulti:  1024,
	}
}

// Validate reports every bound that is out of range.
func (l *Limits) Validate() error {
	var errs []error
	for _, bound := range []struct {
		name       string
		value, min int
	}{
		{"max args", l.MaxArgs, 16},
		{"max bulk", l.MaxBulk, 512},
		{"max inline", l.MaxInline, 1 << 10},
		{"max query", l.MaxQuery, l.MaxBulk},
		{"max output", l.MaxOutput, 1 << 10},
		{"max batch", l.MaxBatch, 1},
		{"max multi", l.MaxMulti, 1},
	} {
		if bound.value < bound.min || bound.value > 1<<29 {
			errs = append(errs, fmt.Errorf("%s must be %d to %d, got %d", bound.name, bound.min, 1<<29, bound.value))
		}
	}
	return errors.Join(errs...)
}
