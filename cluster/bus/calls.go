package bus

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// What a failed call means. Every error of a Client is one of the two.
var (
	// ErrNotDone means that certainly nothing happened at the peer.
	ErrNotDone = errors.New("bus: not done")
	// ErrOutcomeUnknown means that the call may have been done, or may yet be.
	ErrOutcomeUnknown = errors.New("bus: outcome unknown")
)

var (
	errTimeout      = fmt.Errorf("bus: no answer in time: %w", context.DeadlineExceeded)
	errSilent       = errors.New("bus: the peer answers nothing")
	errNotConnected = errors.New("bus: not connected yet")
	errCalls        = errors.New("bus: too many calls in flight")
	errWithdrawn    = errors.New("bus: the peer took its answer back")
	errAnswer       = errors.New("bus: an answer of an unknown kind")
)

func notDone(cause error) error { return fmt.Errorf("%w: %w", ErrNotDone, cause) }
func unknown(cause error) error { return fmt.Errorf("%w: %w", ErrOutcomeUnknown, cause) }

// CallRefusedError is what a peer's Reply.Refuse comes to: ErrNotDone, with the
// peer's words.
type CallRefusedError struct {
	Detail string // for a log
}

// Error gives the peer's words.
func (e *CallRefusedError) Error() string {
	return fmt.Sprintf("bus: not done: the peer refused the call: %q", e.Detail)
}

// Is makes it an ErrNotDone.
func (e *CallRefusedError) Is(target error) bool { return target == ErrNotDone }

// CallLimits bound what calls may cost, on either side.
type CallLimits struct {
	MaxFrame     int           // bytes of a payload
	MaxQueue     int           // bytes that wait to be written on a connection
	MaxCalls     int           // calls in flight on a connection
	MaxHold      time.Duration // by which one Reply.Hold can lengthen a call
	WriteTimeout time.Duration // for the peer to take what is written; up to twice that
}

// DefaultCallLimits fit decisions and what nodes tell each other.
func DefaultCallLimits() CallLimits {
	return CallLimits{
		MaxFrame:     1 << 20,
		MaxQueue:     4 << 20,
		MaxCalls:     16 << 10,
		MaxHold:      2 * time.Second,
		WriteTimeout: 2 * time.Second,
	}
}

// Validate reports every bound that is out of range.
func (l *CallLimits) Validate() error {
	var errs []error
	for _, n := range []struct {
		name              string
		value, least, max int
	}{
		{"max frame", l.MaxFrame, 0, 1 << 29},
		{"max queue", l.MaxQueue, l.MaxFrame + lengthBytes + headBytes, 1 << 30},
		{"max calls", l.MaxCalls, 1, 1 << 24},
	} {
		if n.value < n.least || n.value > n.max {
			errs = append(errs, fmt.Errorf("bus: %s must be %d to %d, got %d", n.name, n.least, n.max, n.value))
		}
	}
	if l.MaxHold < 0 {
		errs = append(errs, fmt.Errorf("bus: max hold must not be negative, got %s", l.MaxHold))
	}
	if l.WriteTimeout < 1 {
		errs = append(errs, fmt.Errorf("bus: write timeout must be positive, got %s", l.WriteTimeout))
	}
	return errors.Join(errs...)
}

func errTooLong(n, most int) error {
	return fmt.Errorf("bus: a payload of %d bytes, allowed are %d", n, most)
}
