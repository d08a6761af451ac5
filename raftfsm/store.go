package raftfsm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// store is Raft's log on the disk, watched: a call that fails or hangs is fatal.
// No write is tried again, since a disk that failed to sync may claim success
// the next time without having written.
type store struct {
	bolt  *raftboltdb.BoltStore
	delay func()
	fatal func(error)

	mu     sync.Mutex
	calls  map[uint64]time.Time // under way: since when
	next   uint64
	now    func() time.Time
	looked time.Time // when hangs looked last; zero: never
	broken error
}

func logPath(dir string) string       { return filepath.Join(dir, "raft", "log.db") }
func snapshotsPath(dir string) string { return filepath.Join(dir, "raft") }

// openStore opens the log. A damaged one is an error that says what to do.
func openStore(dir string) (bolt *raftboltdb.BoltStore, err error) {
	path := logPath(dir)
	defer func() {
		if r := recover(); r != nil {
			err = damaged(path, fmt.Errorf("%v", r))
		}
	}()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, err
	}
	bolt, err = raftboltdb.New(raftboltdb.Options{
		Path: path,
		BoltOptions: &bbolt.Options{
			Timeout:        time.Second,
			NoFreelistSync: true,
			FreelistType:   bbolt.FreelistMapType,
		},
	})
	if err != nil {
		return nil, damaged(path, err)
	}
	return bolt, nil
}

// damaged says what can be done about a log that cannot be read.
func damaged(path string, err error) error {
	return fmt.Errorf("the replicated log %s cannot be read (%w): restore the directory from a backup; "+
		"or, if other nodes of the cluster live, RL.NODE.REMOVE this one there, move its directory away and let it join anew", path, err)
}

func newStore(bolt *raftboltdb.BoltStore, now func() time.Time, fatal func(error)) *store {
	return &store{bolt: bolt, fatal: fatal, calls: map[uint64]time.Time{}, now: now}
}

// begin notes a call; end is called with what came of it.
func (s *store) begin() (end func(error) error) {
	s.mu.Lock()
	if s.broken != nil {
		s.mu.Unlock()
		return func(error) error { return s.broken }
	}
	s.next++
	id := s.next
	s.calls[id] = s.now()
	s.mu.Unlock()
	return func(err error) error {
		s.mu.Lock()
		delete(s.calls, id)
		first := err != nil && s.broken == nil
		if first {
			s.broken = fmt.Errorf("the replicated log failed: %w", err)
		}
		s.mu.Unlock()
		if first {
			s.fatal(s.broken)
		}
		return err
	}
}

// stoodStill is how long nobody may have looked for calls that hang before that
// is a sign of a process that stood still: it was stopped, or its machine was.
const stoodStill = time.Second

// hangs reports a call that has lasted too long, as an error, once. Time in
// which the process stood still is not the disk's.
func (s *store) hangs(most time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if still := now.Sub(s.looked); !s.looked.IsZero() && still > stoodStill {
		for id := range s.calls {
			s.calls[id] = now
		}
	}
	s.looked = now
	for _, since := range s.calls {
		if took := now.Sub(since); took > most && s.broken == nil {
			s.broken = fmt.Errorf("the replicated log hangs: the disk has not answered for %s", took.Round(time.Millisecond))
			return s.broken
		}
	}
	return nil
}

// write runs a call that changes the store.
func (s *store) write(f func() error) error {
	end := s.begin()
	s.mu.Lock()
	broken := s.broken
	s.mu.Unlock()
	if broken != nil {
		return broken
	}
	if s.delay != nil {
		s.delay()
	}
	return end(f())
}

// The methods of raft.LogStore and raft.StableStore. That something is not
// there is no failure.

// FirstIndex implements raft.LogStore.
func (s *store) FirstIndex() (uint64, error) {
	end := s.begin()
	i, err := s.bolt.FirstIndex()
	return i, end(err)
}

// LastIndex implements raft.LogStore.
func (s *store) LastIndex() (uint64, error) {
	end := s.begin()
	i, err := s.bolt.LastIndex()
	return i, end(err)
}

// GetLog implements raft.LogStore.
func (s *store) GetLog(index uint64, log *raft.Log) error {
	end := s.begin()
	err := s.bolt.GetLog(index, log)
	if errors.Is(err, raft.ErrLogNotFound) {
		_ = end(nil)
		return err
	}
	if err == nil {
		err = checkSum(index, log)
	}
	return end(err)
}

// StoreLog implements raft.LogStore.
func (s *store) StoreLog(log *raft.Log) error {
	return s.StoreLogs([]*raft.Log{log})
}

// StoreLogs implements raft.LogStore.
func (s *store) StoreLogs(logs []*raft.Log) error {
	summed := make([]*raft.Log, len(logs))
	for i, log := range logs {
		summed[i] = withSum(log)
	}
	return s.write(func() error { return s.bolt.StoreLogs(summed) })
}

// DeleteRange implements raft.LogStore.
func (s *store) DeleteRange(lo, hi uint64) error {
	return s.write(func() error { return s.bolt.DeleteRange(lo, hi) })
}

// Set implements raft.StableStore.
func (s *store) Set(key, value []byte) error {
	return s.write(func() error { return s.bolt.Set(key, value) })
}

// SetUint64 implements raft.StableStore.
func (s *store) SetUint64(key []byte, value uint64) error {
	return s.write(func() error { return s.bolt.SetUint64(key, value) })
}

// Get implements raft.StableStore.
func (s *store) Get(key []byte) ([]byte, error) {
	end := s.begin()
	value, err := s.bolt.Get(key)
	if errors.Is(err, raftboltdb.ErrKeyNotFound) {
		_ = end(nil)
		return value, err
	}
	return value, end(err)
}

// GetUint64 implements raft.StableStore.
func (s *store) GetUint64(key []byte) (uint64, error) {
	end := s.begin()
	value, err := s.bolt.GetUint64(key)
	if errors.Is(err, raftboltdb.ErrKeyNotFound) {
		_ = end(nil)
		return value, err
	}
	return value, end(err)
}
