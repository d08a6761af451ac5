package main

import "github.com/rlserver/rlserver/snapshot"

// saving is a save of everything, for those who wait for it, in small pieces:
// what changes meanwhile is written as ever, and replies that wait for that
// need not wait for the save.
type saving struct {
	waiting         []func(error)
	saves, failures int64 // of the disk when it began
}

// begin has done be told. One who comes while a save is under way need not have
// another: its end has all that changed until then durable.
func (s *saving) begin(disk *snapshot.Disk, now int64, done func(error)) {
	if len(s.waiting) == 0 {
		before := disk.Stats()
		s.saves, s.failures = before.Saves, before.Failures
		if err := disk.BeginSave(now); err != nil {
			done(err)
			return
		}
	}
	s.waiting = append(s.waiting, done)
}

// end tells those who wait.
func (s *saving) end(err error) {
	for _, done := range s.waiting {
		done(err)
	}
	s.waiting = nil
}

// look tells those who wait if there is something to tell; why is why writing
// stopped.
func (s *saving) look(disk *snapshot.Disk, why func() error) {
	switch now := disk.Stats(); {
	case len(s.waiting) == 0:
	case now.Saves > s.saves:
		s.end(nil)
	case now.Failures > s.failures:
		s.end(why())
	}
}

// next can be received from while there is more to do.
func (s *saving) next() <-chan struct{} {
	if len(s.waiting) == 0 {
		return nil
	}
	always := make(chan struct{})
	close(always)
	return always
}
