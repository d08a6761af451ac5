package state

import (
	"slices"

	"github.com/rlserver/rlserver/limit"
)

// Held is some slots whose keys only answer to its own methods until it is
// released: others wait. Sweeps, evictions, Scan and Flush do not. It may be
// used by one goroutine at a time.
type Held struct {
	store    *Store
	slots    []uint16 // ascending, each once
	released chan struct{}
}

// Hold waits until nobody else holds any of the slots, and then holds them.
// Two that hold several take them in the same order, so neither waits for the
// other for ever. Who holds slots must not ask the Store for keys of theirs.
func (s *Store) Hold(slots []uint16) *Held {
	slots = slices.Clone(slots)
	slices.Sort(slots)
	h := &Held{store: s, slots: slices.Compact(slots), released: make(chan struct{})}
	for _, i := range h.slots {
		sl := &s.slots[i]
		sl.lockFor(h)
		sl.held = h
		sl.mu.Unlock()
	}
	return h
}

// Release lets others go on. It is called once.
func (h *Held) Release() {
	for _, i := range h.slots {
		sl := &h.store.slots[i]
		sl.mu.Lock()
		sl.held = nil
		sl.mu.Unlock()
	}
	close(h.released)
}

// lockFor locks the slot once nobody but by holds it; by may be nil.
func (sl *slot) lockFor(by *Held) {
	sl.mu.Lock()
	for sl.held != nil && sl.held != by {
		released := sl.held.released
		sl.mu.Unlock()
		<-released
		sl.mu.Lock()
	}
}

// Decide is Store's, for a key of the slots that are held.
func (h *Held) Decide(key []byte, spec limit.Spec, req limit.Request, now int64) (limit.Decision, error) {
	return h.store.ask(h, key, spec, req, now)
}

// Refund is Store's, for a key of the slots that are held.
func (h *Held) Refund(key []byte, n, now int64) (refunded, remaining int64, found bool, err error) {
	return h.store.refund(h, h.store.locate(key), n, now)
}

// Reset is Store's, for a key of the slots that are held.
func (h *Held) Reset(key []byte, now int64) bool { return h.store.reset(h, h.store.locate(key), now) }

// Inspect is Store's, for a key of the slots that are held.
func (h *Held) Inspect(key []byte, now int64) (Info, bool) {
	return h.store.inspect(h, h.store.locate(key), now)
}

// FullIn is Store's, for a key of the slots that are held.
func (h *Held) FullIn(key []byte, now int64) (ns int64, ok bool) {
	return h.store.lifetime(h, h.store.locate(key), now)
}
