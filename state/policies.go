package state

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rlserver/rlserver/limit"
)

// Ask is one policy's bucket that is asked: where Slot and Key say, apart from
// all keys of RL.ALLOW. A key is always asked with the same slot.
type Ask struct {
	Slot   uint16
	Key    []byte // not retained
	Spec   limit.Spec
	Strict bool // it never over-admits: not forgotten with debt, and spent where counts were lost
}

// inPlace is for how many buckets DecideAll needs no memory of its own: as
// many as one request can meet.
const inPlace = 16

var (
	errSameBucket = errors.New("state: the same bucket is asked twice")
	errAtMost     = errors.New("state: ATMOST goes with one bucket only")
)

// DecideAll asks policies' buckets, all or nothing: with one denial none is
// charged. out, as long as asks, gets what each answers; where one denies, the
// others answer as a probe. A strict bucket for which there is no room denies.
//
// Errors are ErrNoRoom, the same bucket asked twice, and ATMOST with more than
// one; nothing was decided or changed then. Neither asks nor out are retained.
func (s *Store) DecideAll(asks []Ask, req limit.Request, now int64, out []limit.Decision) (allowed bool, err error) {
	return s.askAll(nil, asks, req, now, out)
}

// DecideAll is Store's, for buckets in the slots that are held.
func (h *Held) DecideAll(asks []Ask, req limit.Request, now int64, out []limit.Decision) (allowed bool, err error) {
	return h.store.askAll(h, asks, req, now, out)
}

func (s *Store) askAll(by *Held, asks []Ask, req limit.Request, now int64, out []limit.Decision) (allowed bool, err error) {
	switch len(asks) {
	case 0:
		return true, nil
	case 1:
		q := s.questionOf(&asks[0], by, req, now)
		out[0], err = s.decide(&q, s.shortcuts.find(q.hash, q.key))
		allowed = out[0].Allowed > 0
	default:
		allowed, err = s.decideTogether(by, asks, req, now, out)
	}
	if errors.Is(err, ErrNoRoom) {
		s.counters.noRoom.Add(1)
	}
	return allowed && err == nil, err
}

func (s *Store) questionOf(ask *Ask, by *Held, req limit.Request, now int64) question {
	return question{address: s.locatePolicy(ask.Slot, ask.Key), spec: ask.Spec, req: req, now: now, by: by, strict: ask.Strict}
}

// part is one bucket of several that are asked together.
type part struct {
	question
	slotNumber uint16
	entry      *entry // nil: the bucket is new
	id         uint32 // its spec's, if the bucket is new or changes its rule
	need       int64  // bytes at most that it will take more
	took       bool   // id is a reference that is not an entry's yet
	added      bool   // and its spec is new in the table
	near       *entry // found without a lock, so that it may be gone; or nil
}

// together is a DecideAll of several buckets.
type together struct {
	parts []part // in the order of asks
	order []int  // of parts, by slot
	by    *Held
}

func (s *Store) decideTogether(by *Held, asks []Ask, req limit.Request, now int64, out []limit.Decision) (bool, error) {
	if req.AtMost {
		return false, errAtMost
	}
	var parts [inPlace]part
	var order [inPlace]int
	t := together{parts: parts[:0], order: order[:0], by: by}
	for i := range asks {
		if asks[i].Slot >= Slots {
			return false, fmt.Errorf("state: slot %d does not exist", asks[i].Slot)
		}
		p := part{question: s.questionOf(&asks[i], by, req, now), slotNumber: asks[i].Slot}
		p.near = s.shortcuts.find(p.hash, p.key)
		t.parts = append(t.parts, p)
		for _, j := range t.order {
			if p := &t.parts[j]; p.slotNumber == asks[i].Slot && string(p.key) == string(asks[i].Key) {
				return false, errSameBucket
			}
		}
		t.order = append(t.order, i)
	}
	slices.SortFunc(t.order, func(i, j int) int { return int(t.parts[i].slotNumber) - int(t.parts[j].slotNumber) })

	room := int64(0) // bytes reserved
	for {
		t.lock()
		need, allowed, err := s.probeAll(&t, out)
		if err != nil || !allowed || !takes(req) {
			t.unlock()
			s.memory.settle(-room)
			return allowed, err
		}
		if need > room && s.memory.reserve(need-room) {
			room = need
		}
		if need <= room {
			grown, err := s.chargeAll(&t, out)
			t.unlock()
			s.memory.settle(-room)
			s.grow(grown, now, asker{t.parts[0].slot, t.parts[0].hash})
			return err == nil, err
		}
		t.unlock()
		// Room is made without the locks, so all is looked up again after it.
		if need > s.memory.ceiling.Load() || !s.makeRoom(need-room, now, asker{}) {
			s.memory.settle(-room)
			return t.noRoom(out)
		}
		room = need
	}
}

// lock locks the slots, each once, in ascending order. Whoever holds one of
// them for long is waited for without any lock: it may need another of them.
func (t *together) lock() {
	for {
		blocked := t.tryLock()
		if blocked == nil {
			return
		}
		<-blocked
	}
}

// tryLock returns nil when all are locked, else a channel that is closed when
// the one that is in the way has gone.
func (t *together) tryLock() (blocked <-chan struct{}) {
	for n, i := range t.order {
		sl := t.parts[i].slot
		if n > 0 && t.parts[t.order[n-1]].slot == sl {
			continue
		}
		sl.mu.Lock()
		if sl.held != nil && sl.held != t.by {
			blocked = sl.held.released
			t.unlockFirst(n + 1)
			return blocked
		}
	}
	return nil
}

func (t *together) unlock() { t.unlockFirst(len(t.order)) }

func (t *together) unlockFirst(n int) {
	for k, i := range t.order[:n] {
		if k == 0 || t.parts[t.order[k-1]].slot != t.parts[i].slot {
			t.parts[i].slot.mu.Unlock()
		}
	}
}

// probeAll finds the buckets and what each would answer. need is how many bytes
// at most it would take to charge them.
func (s *Store) probeAll(t *together, out []limit.Decision) (need int64, allowed bool, err error) {
	allowed = true
	for i := range t.parts {
		p := &t.parts[i]
		p.entry = s.found(&p.question, p.near)
		stored, b := p.spec, limit.Bucket{}
		if p.entry != nil {
			stored, b = *s.specs.at(p.entry.spec), p.entry.bucket()
		} else {
			b = p.fresh()
		}
		probe := p.req
		probe.Peek = true
		out[i], _ = limit.Decide(stored, p.spec, &b, p.now, probe)
		allowed = allowed && out[i].Allowed > 0
		p.need = 0
		if p.entry == nil {
			// What a log will take is known only when it was charged; grow settles it.
			p.need = newBytes(len(p.key), &b) + specBytes
		} else if b.Log != nil && p.spec.Algorithm == limit.SlidingLog && s.outgrows(p.entry, b.Log, &p.question) {
			err = ErrNoRoom
		}
		need += p.need
	}
	if !allowed {
		err = nil // a denial takes no room
	}
	return need, allowed, err
}

// chargeAll charges buckets that all allow it, under their slots' locks. It
// accounts for everything itself: grown is by how much more is in use than was.
func (s *Store) chargeAll(t *together, out []limit.Decision) (grown int64, err error) {
	for i := range t.parts {
		p := &t.parts[i]
		p.took = p.entry == nil || *s.specs.at(p.entry.spec) != p.spec
		if !p.took {
			continue
		}
		var ok bool
		if p.id, p.added, ok = s.specs.acquire(p.spec); !ok {
			return s.giveBack(t.parts[:i]), ErrNoRoom
		}
		if p.added {
			grown += specBytes
		}
	}
	for i := range t.parts {
		p := &t.parts[i]
		if p.entry == nil {
			b := p.fresh()
			out[i], _ = limit.Decide(p.spec, p.spec, &b, p.now, p.req)
			s.enter(&p.question, p.id, &b, s.collect)
			grown += newBytes(len(p.key), &b)
			continue
		}
		b := p.entry.bucket()
		before := stateBytes(&b)
		out[i], _ = limit.Decide(*s.specs.at(p.entry.spec), p.spec, &b, p.now, p.req)
		p.entry.put(&b)
		p.entry.seen = steps(p.now)
		grown += stateBytes(&b) - before
		if p.took {
			if s.specs.release(p.entry.spec) {
				grown -= specBytes
			}
			p.entry.spec = p.id | p.entry.spec&marks
			s.counters.conversions.Add(1)
		}
		p.entry.spec = p.entry.spec&^flags | p.flags()
		s.mark(p.slot, p.entry, s.collect)
	}
	return grown, nil
}

// giveBack releases what chargeAll acquired. A spec that was new and that
// somebody else has taken up since stays, and is accounted for.
func (s *Store) giveBack(parts []part) (grown int64) {
	for i := range parts {
		if p := &parts[i]; p.took && !s.specs.release(p.id) && p.added {
			grown += specBytes
		}
	}
	return grown
}

// noRoom is the answer where no room can be made: a strict bucket denies.
func (t *together) noRoom(out []limit.Decision) (bool, error) {
	err := ErrNoRoom
	for i := range t.parts {
		if p := &t.parts[i]; p.strict && p.entry == nil {
			out[i], err = noRoom(&p.question)
		}
	}
	return false, err
}

// RefundPolicy is Refund for a policy's bucket.
func (s *Store) RefundPolicy(slot uint16, key []byte, n, now int64) (refunded, remaining int64, found bool, err error) {
	return s.refund(nil, s.locatePolicy(slot, key), n, now)
}

// ResetPolicy is Reset for a policy's bucket. A strict one whose slot lost
// counts is spent again where they were lost.
func (s *Store) ResetPolicy(slot uint16, key []byte, now int64) bool {
	return s.reset(nil, s.locatePolicy(slot, key), now)
}

// InspectPolicy is Inspect for a policy's bucket.
func (s *Store) InspectPolicy(slot uint16, key []byte, now int64) (Info, bool) {
	return s.inspect(nil, s.locatePolicy(slot, key), now)
}

// RefundPolicy is Store's, for a bucket of the slots that are held.
func (h *Held) RefundPolicy(slot uint16, key []byte, n, now int64) (refunded, remaining int64, found bool, err error) {
	return h.store.refund(h, h.store.locatePolicy(slot, key), n, now)
}

// ResetPolicy is Store's, for a bucket of the slots that are held.
func (h *Held) ResetPolicy(slot uint16, key []byte, now int64) bool {
	return h.store.reset(h, h.store.locatePolicy(slot, key), now)
}

// InspectPolicy is Store's, for a bucket of the slots that are held.
func (h *Held) InspectPolicy(slot uint16, key []byte, now int64) (Info, bool) {
	return h.store.inspect(h, h.store.locatePolicy(slot, key), now)
}

// Lose notes that counts of a slot may have been lost at an instant, Unix
// nanoseconds: strict buckets have full debt then, also those that are not
// there. An earlier instant than the one that is known changes nothing; 0
// forgets it.
func (s *Store) Lose(slot uint16, at int64) {
	sl := &s.slots[slot%Slots]
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if at != 0 && at <= sl.lossAt {
		return
	}
	sl.lossAt = at
	s.markSlot(sl, s.collect)
	if at == 0 {
		return
	}
	grown := int64(0)
	sl.tree.Scan(func(_ uint64, e *entry) bool {
		for ; e != nil; e = e.next() {
			if e.strict() {
				before := e.bytes()
				spent := limit.Spent(*s.specs.at(e.spec), at)
				e.put(&spent)
				s.mark(sl, e, s.collect)
				grown += e.bytes() - before
			}
		}
		return true
	})
	s.memory.settle(grown)
}

// LossAt is when counts of a slot may last have been lost; 0: never.
func (s *Store) LossAt(slot uint16) int64 {
	sl := &s.slots[slot%Slots]
	sl.mu.Lock()
	defer sl.mu.Unlock()
	return sl.lossAt
}
