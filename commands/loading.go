package commands

import "sync/atomic"

// loading is whether the server still waits for what it needs to decide. Once
// it has that it never waits again.
type loading struct {
	why  func() error // nil: it never waits
	over atomic.Bool
}

// wait says what the server waits for; nil: nothing.
func (l *loading) wait() error {
	if l.over.Load() {
		return nil
	}
	if l.why != nil {
		if err := l.why(); err != nil {
			return err
		}
	}
	l.over.Store(true)
	return nil
}

// loads refuses a command that the server cannot answer yet, under the code by
// which clients know that they are to come back.
func (d *Dispatcher) loads(e *entry) error {
	if e.Flags&FlagLoading != 0 {
		return nil
	}
	if why := d.loading.wait(); why != nil {
		return errorCode("LOADING", "rlserver is starting: %s", why)
	}
	return nil
}
