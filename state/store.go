// Package state keeps the buckets: 16,384 slots, each a lock and a B-tree. It
// gives each decision its bucket, forgets what is full and idle, and bounds
// the memory. Time is an argument everywhere: Unix nanoseconds, not negative.
//
// All methods may be called from any goroutine. DESIGN.md beside this file
// has the reasons, the invariants and the rules of locking.
package state

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlserver/rlserver/limit"
)

// ErrNoRoom is returned when the state that a request would leave does not
// fit into the maximum of memory even with everything else evicted. Nothing
// was decided or changed.
var ErrNoRoom = errors.New("state: no room for this key within the maximum of memory")

// Defaults of Config.
const (
	DefaultMaxMemory = 1 << 30
	DefaultSweepIdle = 60 * time.Second
)

// Config is what a Store needs.
type Config struct {
	// MaxMemory bounds the accounted bytes of buckets; 0 means
	// DefaultMaxMemory. The store itself takes 2 MB beside it.
	MaxMemory int64
	// SweepIdle is for how long a full bucket must not have been charged
	// before a sweep deletes it; 0 means DefaultSweepIdle. Less only makes
	// keys that come and go cost more time, it never changes a decision.
	SweepIdle time.Duration
	// Collect says who gathers changes. What nobody comes for piles up to some
	// megabytes.
	Collect Collector
	// Hash spreads keys. It must be keyed and unpredictable wherever others
	// choose the keys, and callable from any goroutine.
	Hash func(key []byte) uint64
	// Rand is a source of random numbers, callable from any goroutine.
	Rand func() uint64
}

func (c *Config) validate() error {
	var errs []error
	if c.MaxMemory < 0 {
		errs = append(errs, fmt.Errorf("MaxMemory must not be negative, got %d", c.MaxMemory))
	}
	if err := checkSweepIdle(c.SweepIdle); err != nil {
		errs = append(errs, err)
	}
	if c.Hash == nil {
		errs = append(errs, errors.New("a Hash must be given"))
	}
	if c.Rand == nil {
		errs = append(errs, errors.New("a Rand must be given"))
	}
	return errors.Join(errs...)
}

func checkSweepIdle(d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("SweepIdle must not be negative, got %s", d)
	}
	return nil
}

// Store holds the buckets of one node. Build it with New.
type Store struct {
	// Read by every decision and never written, so apart from what follows.
	hash      func([]byte) uint64
	rand      func() uint64
	slots     *[Slots]slot
	shortcuts shortcuts
	specs     *specTable
	top       *top
	collect   Collector // who gathers changes
	_         [64]byte

	// Written when keys come and go, and by who changes a setting.
	memory    memory
	sweepIdle atomic.Int64  // nanoseconds
	keys      atomic.Int64  // of RL.ALLOW
	policies  atomic.Int64  // policies' buckets
	sweepNext atomic.Uint64 // slots swept so far; modulo Slots the next one
	counters  counters
	changes   changes
	batches   sync.Pool // of *batch
}

// New returns an empty store, or an error that names all that is wrong.
func New(c Config) (*Store, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	if c.MaxMemory == 0 {
		c.MaxMemory = DefaultMaxMemory
	}
	s := &Store{
		hash:  c.Hash,
		rand:  c.Rand,
		slots: new([Slots]slot),
		specs: newSpecTable(),
		top:   newTop(c.Rand()),

		collect: c.Collect & anyCollector,
	}
	for i := range s.slots {
		s.slots[i].tree, s.slots[i].number = newTree(), uint16(i)
	}
	s.shortcuts.fit(0)
	s.memory.setMax(c.MaxMemory)
	return s, s.SetSweepIdle(c.SweepIdle)
}

// address says which bucket is meant. A key of RL.ALLOW and a policy's bucket
// with the same bytes are two.
type address struct {
	slot  *slot
	hash  uint64
	key   []byte
	space uint32 // policyFlag or 0
}

// locate finds a key of RL.ALLOW.
func (s *Store) locate(key []byte) address {
	return address{slot: &s.slots[Slot(key)], hash: s.hash(key), key: key}
}

// locatePolicy finds a policy's bucket, which its policy says the slot of.
func (s *Store) locatePolicy(slot uint16, key []byte) address {
	return address{slot: &s.slots[slot%Slots], hash: ^s.hash(key), key: key, space: policyFlag}
}

// fullIn is the time until e is as new, in nanoseconds; 0: it is.
func (s *Store) fullIn(e *entry, now int64) int64 {
	b := e.bucket()
	return limit.FullIn(*s.specs.at(e.spec), &b, now)
}

// Refund gives back at most n units of key, n >= 0, and returns how many were
// given back and how many then remain. found is false for an unknown or a
// full key. The error is limit's: the bucket's algorithm cannot give back.
func (s *Store) Refund(key []byte, n, now int64) (refunded, remaining int64, found bool, err error) {
	return s.refund(nil, s.locate(key), n, now)
}

func (s *Store) refund(by *Held, at address, n, now int64) (refunded, remaining int64, found bool, err error) {
	at.slot.lockFor(by)
	defer at.slot.mu.Unlock()
	e := at.slot.find(&at)
	if e == nil || s.fullIn(e, now) == 0 {
		return 0, 0, false, nil
	}
	before := e.bytes()
	b := e.bucket()
	refunded, remaining, err = limit.Refund(*s.specs.at(e.spec), &b, now, n)
	if err != nil {
		return 0, 0, true, err
	}
	e.put(&b)
	if refunded > 0 {
		s.mark(at.slot, e, s.collect)
	}
	s.memory.settle(e.bytes() - before)
	return refunded, remaining, true, nil
}

// Reset makes key as new. It reports whether key was not.
func (s *Store) Reset(key []byte, now int64) bool {
	return s.reset(nil, s.locate(key), now)
}

func (s *Store) reset(by *Held, at address, now int64) bool {
	at.slot.lockFor(by)
	defer at.slot.mu.Unlock()
	e := at.slot.find(&at)
	if e == nil {
		return false
	}
	used := s.fullIn(e, now) > 0
	s.forget(at.slot, at.hash, e, s.collect, mustTell)
	return used
}

// Info describes one bucket.
type Info struct {
	Spec      limit.Spec
	Remaining int64 // whole units
	ResetMS   int64 // milliseconds until it is as new, rounded up
	IdleMS    int64 // milliseconds since it last admitted, at most 537 too few
	Bytes     int64 // accounted memory
}

// Inspect describes key's bucket. It is false for an unknown or a full one.
func (s *Store) Inspect(key []byte, now int64) (Info, bool) {
	return s.inspect(nil, s.locate(key), now)
}

func (s *Store) inspect(by *Held, at address, now int64) (Info, bool) {
	at.slot.lockFor(by)
	defer at.slot.mu.Unlock()
	e := at.slot.find(&at)
	if e == nil {
		return Info{}, false
	}
	fullIn := s.fullIn(e, now)
	if fullIn == 0 {
		return Info{}, false
	}
	b := e.bucket()
	spec := *s.specs.at(e.spec)
	return Info{
		Spec:      spec,
		Remaining: limit.Remaining(spec, &b, now),
		ResetMS:   (fullIn-1)/1e6 + 1,
		IdleMS:    e.idle(now) / 1e6,
		Bytes:     e.bytes(),
	}, true
}

// FullIn is the time until key is as new, in nanoseconds. It is false for an
// unknown or a full key.
func (s *Store) FullIn(key []byte, now int64) (ns int64, ok bool) {
	return s.lifetime(nil, s.locate(key), now)
}

func (s *Store) lifetime(by *Held, at address, now int64) (ns int64, ok bool) {
	at.slot.lockFor(by)
	defer at.slot.mu.Unlock()
	if e := at.slot.find(&at); e != nil {
		ns = s.fullIn(e, now)
	}
	return ns, ns > 0
}

// Len is the number of RL.ALLOW's keys held, full ones that were not swept included.
func (s *Store) Len() int64 { return s.keys.Load() }

// SetMaxMemory changes the bound of accounted bytes; n <= 0 means
// DefaultMaxMemory. Below what is used, growth stops at once, and sweeps
// evict down to the bound little by little.
func (s *Store) SetMaxMemory(n int64) {
	if n <= 0 {
		n = DefaultMaxMemory
	}
	s.memory.setMax(n)
}

// SetSweepIdle changes Config.SweepIdle, with the same bounds: 0 means
// DefaultSweepIdle, and less is an error that changes nothing. A sweep that
// runs ends with what it began with.
func (s *Store) SetSweepIdle(d time.Duration) error {
	if err := checkSweepIdle(d); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	if d == 0 {
		d = DefaultSweepIdle
	}
	s.sweepIdle.Store(d.Nanoseconds())
	return nil
}
