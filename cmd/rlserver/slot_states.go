package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/rlserver/rlserver/raftfsm"
	"github.com/rlserver/rlserver/snapshot"
	"github.com/rlserver/rlserver/state"
)

// slotStates knows under which versions of their slots this node's buckets were
// counted: buckets of another version are of a time before others counted.
type slotStates struct {
	store    *state.Store
	now      func() int64
	loaded   chan struct{} // closed when the versions of the disk are known
	versions [state.Slots]atomic.Uint64

	mu       sync.Mutex // of what changes whole slots
	incoming [state.Slots]bool
}

func newSlotStates(store *state.Store, now func() int64) *slotStates {
	return &slotStates{store: store, now: now, loaded: make(chan struct{})}
}

// load takes the versions that were on the disk.
func (s *slotStates) load(all []snapshot.SlotState) {
	for slot, one := range all {
		s.versions[slot].Store(one.Version)
	}
	close(s.loaded)
}

// prepare is cluster.Config's: old buckets go, and what others counted since is
// lost. What a node counted alone, before there were others, stays: version 0.
func (s *slotStates) prepare(slot uint16, version, counts uint64) {
	<-s.loaded
	s.mu.Lock()
	defer s.mu.Unlock()
	s.incoming[slot] = false
	had := s.versions[slot].Load()
	if had != version && had != counts {
		s.forget(slot)
		s.store.Lose(slot, s.now())
	}
	s.versions[slot].Store(version)
}

// meta is snapshot.Config's.
func (s *slotStates) meta(slot uint16) (version, sequence uint64) {
	return s.versions[slot].Load(), 0
}

// copy is cluster.Config's: the buckets of slots that stand still.
func (s *slotStates) copy(all []raftfsm.SlotVersion) ([]byte, error) {
	var out bytes.Buffer
	now := s.now()
	w, err := snapshot.NewWriter(&out, snapshot.Header{Written: now})
	if err != nil {
		return nil, err
	}
	for _, sv := range all {
		lossAt := s.store.LossAt(sv.Slot)
		part := snapshot.Slot{Slot: sv.Slot, Version: sv.Version, Written: now, LossAt: lossAt}
		if err := w.Slot(&part); err != nil {
			return nil, err
		}
		s.store.Records(sv.Slot, now, func(_ int64, records []state.Record) {
			part.Records = records
			err = errors.Join(err, w.Slot(&part))
		})
		if err != nil {
			return nil, err
		}
	}
	if err := w.End(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// receive is cluster.Config's: what another node copied takes the place of what
// is here.
func (s *slotStates) receive(counts []byte, all []raftfsm.SlotVersion) error {
	<-s.loaded
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	r, err := snapshot.NewReader(bytes.NewReader(counts), snapshot.At(now))
	if err != nil {
		return err
	}
	// Whatever happens, nothing here is of a version any more until all is.
	began := map[uint16]bool{}
	for _, sv := range all {
		s.versions[sv.Slot].Store(0)
		s.incoming[sv.Slot] = true
	}
	for {
		part, err := r.Next()
		if errors.Is(err, io.EOF) && r.Ended() {
			break
		}
		if err != nil {
			return fmt.Errorf("the counts that were sent cannot be read: %w", err)
		}
		if !began[part.Slot] {
			began[part.Slot] = true
			s.forget(part.Slot)
			if part.LossAt != 0 {
				s.store.Lose(part.Slot, part.LossAt)
			}
		}
		if left := s.store.Install(part.Slot, part.Records, now, 0); left > 0 {
			return fmt.Errorf("there is no room for %d buckets: raise --max-memory", left)
		}
	}
	for _, sv := range all {
		if !began[sv.Slot] {
			return fmt.Errorf("slot %d is missing in the counts that were sent", sv.Slot)
		}
		s.versions[sv.Slot].Store(sv.Version)
	}
	return nil
}

// drop is cluster.Config's: what was counted in a slot is another node's now,
// which may have begun to send it back.
func (s *slotStates) drop(slot uint16) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.incoming[slot] {
		s.forget(slot)
		s.versions[slot].Store(0)
	}
}

// forget makes a slot as if it had never been counted here.
func (s *slotStates) forget(slot uint16) {
	s.store.Install(slot, []state.Record{{Gone: true, All: true}}, s.now(), 0)
	s.store.Lose(slot, 0)
}
