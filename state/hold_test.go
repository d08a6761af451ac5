package state

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rlserver/rlserver/limit"
)

// Two units are taken one after the other, in a hold each time. Since nobody
// comes between them, every hold gets both or, at the end, none.
func TestHoldKeepsOthersOut(t *testing.T) {
	s := newStore(t)
	key, other := []byte("{tag}held"), []byte("other")
	spec := limit.Spec{Limit: 100, Window: limit.MaxWindow, Burst: 100}
	take := func(decide func([]byte, limit.Spec, limit.Request, int64) (limit.Decision, error), key []byte) int64 {
		d, err := decide(key, spec, limit.Request{Cost: 1}, start)
		if err != nil {
			t.Error(err)
		}
		return d.Allowed
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				h := s.Hold([]uint16{Slot(key), Slot(other), Slot(key)})
				first, _ := h.FullIn(key, start)
				if one, two := take(h.Decide, key), take(h.Decide, key); one != two {
					t.Errorf("of two units in one hold, %d and %d were got", one, two)
				}
				if _, left, found, err := h.Refund(key, 1, start); err != nil || !found || left < 1 {
					t.Errorf("refund: %d left, %v, %v", left, found, err)
				}
				if take(h.Decide, key) != 1 {
					t.Error("a unit given back was taken by somebody else")
				}
				if again, _ := h.FullIn(key, start); again < first {
					t.Error("the bucket became fuller within a hold")
				}
				h.Release()
			}
		})
		all.Go(func() {
			for range 100 {
				take(s.Decide, other)
				s.Sweep(start, 16)
				s.Scan(0, 10, start, func([]byte) {})
			}
		})
	}
	all.Wait()
	if info, found := s.Inspect(key, start); !found || info.Remaining != 0 {
		t.Errorf("%+v, %v", info, found)
	}
}

// A request for a key of a held slot is answered after the release, and gets
// what is left then.
func TestHeldSlotAnswersLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		key := []byte("key")
		spec := limit.Spec{Limit: 1, Window: limit.MaxWindow, Burst: 1}
		h := s.Hold([]uint16{Slot(key)})
		answered := make(chan limit.Decision, 1)
		go func() {
			d, _ := s.Decide(key, spec, limit.Request{Cost: 1}, start)
			answered <- d
		}()
		second := make(chan *Held, 1)
		go func() { second <- s.Hold([]uint16{Slot(key), Slot([]byte("other"))}) }()
		synctest.Wait()
		if len(answered) > 0 || len(second) > 0 {
			t.Fatal("a held slot answered somebody else, or was held twice")
		}
		if d, err := h.Decide(key, spec, limit.Request{Cost: 1}, start); err != nil || d.Allowed != 1 {
			t.Fatalf("who holds the slot got %+v, %v", d, err)
		}
		if _, found := h.Inspect(key, start); !found {
			t.Error("who holds the slot does not see the bucket")
		}
		h.Release()
		h = <-second
		if !h.Reset(key, start) {
			t.Error("nothing was reset")
		}
		h.Release()
		<-answered
	})
}
