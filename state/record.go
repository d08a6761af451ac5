package state

import "github.com/rlserver/rlserver/limit"

// Record is one bucket as it leaves a store and enters another: a file, a
// replica, the next owner of a slot. Its instants are of the clock of whoever
// holds it, Unix nanoseconds.
type Record struct {
	Key    []byte
	Policy bool // a policy's bucket, none of RL.ALLOW's keys
	Strict bool // it must never be forgotten while it has debt
	Spec   limit.Spec
	Bucket limit.Bucket

	// Gone: the key was deleted. It has neither Spec nor Bucket.
	Gone bool
	// All goes with Gone: not one key but everything in the slot is gone, of
	// both kinds. What is left of it follows. Key is not used.
	All bool
}

// batchWork bounds what is gathered in one hold of a slot's lock: so many
// entries, or a log's entries instead of one of them.
const (
	batchWork  = walkBatch
	logPerWork = 16
)

// Visit gets records of a slot, in batches that are valid only until it
// returns; it may call the Store. lossAt is when counts of the slot were last
// lost, see LossAt: it goes before the records, and may come without any.
type Visit func(lossAt int64, records []Record)

// Records visits all buckets of a slot, without the full ones that need not
// be known. What is made meanwhile may be missing: it is among what Changed
// visits then.
func (s *Store) Records(slot uint16, now int64, visit Visit) {
	sl := &s.slots[slot%Slots]
	b := s.batch()
	defer s.done(b)
	for pos, more := uint64(0), true; more; {
		sl.mu.Lock()
		b.begin(sl)
		pos, more = sl.gather(pos, b, func(e *entry) {
			if e.strict() || s.fullIn(e, now) > 0 {
				b.add(s, e, now)
			}
		})
		sl.mu.Unlock()
		if len(b.records) > 0 || b.lossAt != 0 {
			visit(b.lossAt, b.records)
		}
	}
}

// Changed visits what changed in a slot since the last call for the same
// collector: changed and new buckets, and keys that are gone, in an order that
// leads to what is there now. A collector is asked for by one goroutine at a
// time.
//
// Denials and probes change nothing. What a sweep deletes is not told: it was
// full, and whoever knows an older state sees it fill likewise.
func (s *Store) Changed(w Collector, slot uint16, now int64, visit Visit) {
	sl := &s.slots[slot%Slots]
	b := s.batch()
	defer s.done(b)
	news, whole := false, false
	for pos, more, first := uint64(0), true, true; more; first = false {
		sl.mu.Lock()
		b.begin(sl)
		if first {
			if news, whole = s.unmark(sl, w); whole {
				b.records = append(b.records, Record{Gone: true, All: true})
			}
		}
		s.changes.take(sl.number, w, b)
		pos, more = sl.gather(pos, b, func(e *entry) {
			if whole || e.changed(w) {
				e.spec &^= w.mark()
				b.add(s, e, now)
			}
		})
		sl.mu.Unlock()
		if len(b.records) > 0 || first && news {
			visit(b.lossAt, b.records)
		}
	}
}

// batch is records that are gathered under a slot's lock and visited without.
type batch struct {
	lossAt  int64
	records []Record
	keys    []byte
	work    int
}

// batch is one that was used before, if there is: most slots hold little, and
// there are many of them.
func (s *Store) batch() *batch {
	if b, ok := s.batches.Get().(*batch); ok {
		return b
	}
	return new(batch)
}

// done keeps a batch for the next slot, unless it has grown very large.
func (s *Store) done(b *batch) {
	clear(b.records)
	if cap(b.keys) <= 64<<10 {
		s.batches.Put(b)
	}
}

// begin begins anew with a slot that is locked.
func (b *batch) begin(sl *slot) {
	clear(b.records) // logs may be large
	*b = batch{lossAt: sl.lossAt, records: b.records[:0], keys: b.keys[:0]}
}

// gather visits entries from position pos on, until the batch has had enough
// work: all of a position or none. It returns the position to go on from, and
// false at the slot's end.
func (sl *slot) gather(pos uint64, b *batch, visit func(*entry)) (next uint64, more bool) {
	sl.tree.Ascend(pos<<posShift, func(h uint64, e *entry) bool {
		if at := h >> posShift; b.work >= batchWork && at != pos {
			next, more = at, true
			return false
		}
		pos = h >> posShift
		for ; e != nil; e = e.next() {
			b.work++
			visit(e)
		}
		return true
	})
	return next, more
}

// add copies an entry, whose slot is locked.
func (b *batch) add(s *Store, e *entry, now int64) {
	r := Record{
		Key: b.copied(e.key), Policy: e.policy(), Strict: e.strict(),
		Spec: *s.specs.at(e.spec), Bucket: e.bucket(),
	}
	if log := r.Bucket.Log; log != nil {
		r.Bucket.Log = new(limit.Log)
		for at, units := range log.All() {
			if now-at < r.Spec.Window {
				r.Bucket.Log.Add(at, units)
			}
		}
		b.work += int(log.Bytes() / (16 * logPerWork))
	}
	b.records = append(b.records, r)
}

func (b *batch) copied(key string) []byte {
	begin := len(b.keys)
	b.keys = append(b.keys, key...)
	return b.keys[begin:len(b.keys):len(b.keys)]
}

// Install does what records say, in their order: a bucket replaces what the
// slot has under its key, or comes new. It copies keys and keeps logs. The
// collectors in knows are those that need not be told, since the records come
// from them; 0: all are.
//
// It returns how many records found no room. Where a strict one did not, all
// strict buckets of the slot have full debt at now, as after a loss.
func (s *Store) Install(slot uint16, records []Record, now int64, knows Collector) (left int) {
	tell := s.collect &^ knows
	lost := false
	for i := range records {
		r := &records[i]
		switch {
		case r.All:
			s.deleteIf(&s.slots[slot%Slots], &SweepResult{}, func(*entry) bool { return true })
			s.markWhole(&s.slots[slot%Slots], tell)
		case r.Gone || !r.Strict && limit.FullIn(r.Spec, &r.Bucket, now) == 0: // full is as good as gone
			s.uninstall(s.locateRecord(slot, r), tell)
		case !s.install(s.locateRecord(slot, r), r, now, tell):
			left++
			lost = lost || r.Strict
		}
	}
	if lost {
		s.Lose(slot, now)
	}
	return left
}

// locateRecord finds where a record belongs. Keys of RL.ALLOW say their slot
// themselves: one in another would never be found.
func (s *Store) locateRecord(slot uint16, r *Record) address {
	if r.Policy {
		return s.locatePolicy(slot, r.Key)
	}
	return s.locate(r.Key)
}

func (s *Store) uninstall(at address, tell Collector) {
	at.slot.mu.Lock()
	defer at.slot.mu.Unlock()
	if e := at.slot.find(&at); e != nil {
		s.forget(at.slot, at.hash, e, tell, mustTell)
	}
}

// install reports false, and has done nothing, if there is no room.
func (s *Store) install(at address, r *Record, now int64, tell Collector) bool {
	size := newBytes(len(r.Key), &r.Bucket)
	room := size + specBytes
	if room > s.memory.ceiling.Load() || !s.makeRoom(room, now, asker{at.slot, at.hash}) {
		return false
	}
	at.slot.mu.Lock()
	defer at.slot.mu.Unlock()
	e := at.slot.find(&at)
	id, added, ok := s.specs.acquire(r.Spec)
	if !ok {
		s.memory.settle(-room)
		return false
	}
	if added {
		size += specBytes
	}
	q := question{address: at, now: now, strict: r.Strict}
	if e == nil {
		s.enter(&q, id, &r.Bucket, tell)
	} else {
		size -= e.bytes()
		if s.specs.release(e.spec) {
			size -= specBytes
		}
		e.spec = id | e.spec&marks | q.flags()
		e.seen = steps(now)
		e.put(&r.Bucket)
		s.mark(at.slot, e, tell)
	}
	s.memory.settle(size - room)
	return true
}
