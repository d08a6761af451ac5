package state

import "github.com/rlserver/rlserver/limit"

// question is one call of Decide, or one part of DecideAll.
type question struct {
	address
	spec   limit.Spec
	req    limit.Request
	now    int64
	by     *Held // who asks, if it holds the slot
	strict bool
}

// flags are those of an entry that is made for the question.
func (q *question) flags() uint32 {
	if q.strict {
		return q.space | strictFlag
	}
	return q.space
}

// takes reports whether an admitted request takes units.
func takes(req limit.Request) bool { return req.Cost > 0 && !req.Peek }

// Decide asks key's bucket under spec, and charges it if the request is
// admitted. A denial, a probe and cost 0 change nothing, and leave no trace
// of an unknown key. key is not retained.
//
// The only error is ErrNoRoom.
func (s *Store) Decide(key []byte, spec limit.Spec, req limit.Request, now int64) (limit.Decision, error) {
	return s.ask(nil, key, spec, req, now)
}

func (s *Store) ask(by *Held, key []byte, spec limit.Spec, req limit.Request, now int64) (limit.Decision, error) {
	h := s.hash(key)
	// The shortcut comes first: its cache misses and the slot's then overlap.
	near := s.shortcuts.find(h, key)
	q := question{address: address{slot: &s.slots[Slot(key)], hash: h, key: key}, spec: spec, req: req, now: now, by: by}
	d, err := s.decide(&q, near)
	if err != nil {
		s.counters.noRoom.Add(1)
		return limit.Decision{}, err
	}
	if takes(req) {
		s.top.count(h, key, d.Allowed == 0, now)
	}
	return d, nil
}

// decide decides. near is an entry of the key that may be gone, or nil.
func (s *Store) decide(q *question, near *entry) (limit.Decision, error) {
	sl := q.slot
	room := int64(0) // bytes reserved for a new key
	for {
		sl.lockFor(q.by)
		e := s.found(q, near)
		if e != nil {
			d, grown, err := s.decideKnown(e, q)
			sl.mu.Unlock()
			s.memory.settle(-room)
			s.grow(grown, q.now, asker{sl, q.hash})
			return d, err
		}
		d, need, err := s.decideNew(q, room)
		sl.mu.Unlock()
		if err != nil || need <= room {
			return d, err
		}
		// Room is made without the lock, so all is looked up again after it.
		if need > s.memory.ceiling.Load() || !s.makeRoom(need-room, q.now, asker{sl, q.hash}) {
			s.memory.settle(-room)
			return noRoom(q)
		}
		room = need
	}
}

// found returns the bucket of a question, or nil. near is an entry of the key
// that may be gone, or nil. The slot is locked.
func (s *Store) found(q *question, near *entry) *entry {
	if near != nil && !near.gone() && near.spec&policyFlag == q.space {
		return near
	}
	e := q.slot.find(&q.address)
	if e != nil {
		s.shortcuts.put(q.hash, e)
	}
	return e
}

// noRoom is what a question gets for which no room could be made. What must
// never be admitted twice is denied, as if others had spent it: a little later
// there may be room.
func noRoom(q *question) (limit.Decision, error) {
	if !q.strict {
		return limit.Decision{}, ErrNoRoom
	}
	const soon = 100 // ms
	return limit.Decision{Limit: q.spec.Capacity(), WaitMS: soon, ResetMS: soon}, nil
}

// fresh is the bucket of a key that has none: full, but for a strict one whose
// counts may have been lost.
func (q *question) fresh() limit.Bucket {
	if q.strict && q.slot.lossAt != 0 {
		return limit.Spent(q.spec, q.slot.lossAt)
	}
	return limit.Bucket{}
}

// decideNew decides for a key without a bucket and makes one if units were
// taken. If that needs more than the room that is reserved and no more can be
// had, it says how much and does nothing. Otherwise the room is settled.
func (s *Store) decideNew(q *question, room int64) (d limit.Decision, need int64, err error) {
	b := q.fresh()
	d, taken := limit.Decide(q.spec, q.spec, &b, q.now, q.req)
	if !taken {
		s.memory.settle(-room)
		return d, 0, nil
	}
	size := newBytes(len(q.key), &b)
	need = size + specBytes
	if need > room {
		if !s.memory.reserve(need - room) {
			return limit.Decision{}, need, nil
		}
		room = need
	}
	id, added, ok := s.specs.acquire(q.spec)
	if !ok {
		s.memory.settle(-room)
		return limit.Decision{}, 0, ErrNoRoom
	}
	if added {
		size += specBytes
	}
	s.memory.settle(size - room)
	s.enter(q, id, &b, s.collect)
	return d, 0, nil
}

// enter makes the entry of a question's bucket, whose spec was acquired as id,
// and has collectors told.
func (s *Store) enter(q *question, id uint32, b *limit.Bucket, tell Collector) {
	e := newEntry(q.key)
	e.spec, e.seen = id|q.flags(), steps(q.now)
	e.put(b)
	q.slot.insert(q.hash, e)
	s.mark(q.slot, e, tell)
	s.held(q.space != 0).Add(1)
}

// decideKnown decides for a key that has a bucket. grown is by how many bytes
// its state grew, which is not accounted yet.
func (s *Store) decideKnown(e *entry, q *question) (d limit.Decision, grown int64, err error) {
	stored := s.specs.at(e.spec)
	if *stored != q.spec {
		return s.decideChanged(e, *stored, q)
	}
	return s.charge(e, q.spec, q)
}

// decideChanged decides for a bucket that is kept under another rule.
func (s *Store) decideChanged(e *entry, stored limit.Spec, q *question) (d limit.Decision, grown int64, err error) {
	// Most often such a request comes once per key. It is asked as a probe
	// first: the new rule is interned only if it is going to be stored.
	b := e.bucket()
	probe := q.req
	probe.Peek = true
	if d, _ = limit.Decide(stored, q.spec, &b, q.now, probe); d.Allowed == 0 || !takes(q.req) {
		return d, 0, nil
	}
	id, added, ok := s.specs.acquire(q.spec)
	if !ok {
		return limit.Decision{}, 0, ErrNoRoom
	}
	d, grown, err = s.charge(e, stored, q)
	if err != nil {
		s.specs.release(id)
		return d, 0, err
	}
	if added {
		grown += specBytes
	}
	if s.specs.release(e.spec) {
		grown -= specBytes
	}
	e.spec = id | e.spec&marks | q.flags()
	s.counters.conversions.Add(1)
	return d, grown, nil
}

// charge asks e's bucket, kept under the rule stored, and stores what it
// becomes.
func (s *Store) charge(e *entry, stored limit.Spec, q *question) (d limit.Decision, grown int64, err error) {
	b := e.bucket()
	before := stateBytes(&b)
	if b.Log != nil && q.spec.Algorithm == limit.SlidingLog && s.outgrows(e, b.Log, q) {
		// The bucket cannot hold what it would become, even alone.
		probe := q.req
		probe.Peek = true
		if d, _ = limit.Decide(stored, q.spec, &b, q.now, probe); d.Allowed == 0 || !takes(q.req) {
			return d, 0, nil
		}
		return limit.Decision{}, 0, ErrNoRoom
	}
	d, taken := limit.Decide(stored, q.spec, &b, q.now, q.req)
	if !taken {
		return d, 0, nil
	}
	grown = stateBytes(&b) - before
	e.put(&b)
	e.seen = steps(q.now)
	e.spec = e.spec&^flags | q.flags()
	s.mark(q.slot, e, s.collect)
	return d, grown, nil
}

// outgrows reports whether e's log would grow beyond the memory of a whole
// store if units were taken.
func (s *Store) outgrows(e *entry, log *limit.Log, q *question) bool {
	grown := log.BytesAfter(q.spec, q.now) - log.Bytes()
	return grown > 0 && e.bytes()+grown > s.memory.ceiling.Load()
}
