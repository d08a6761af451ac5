package state

import (
	"sync"
	"sync/atomic"

	"github.com/rlserver/rlserver/limit"
)

const (
	specChunk  = 1 << 10                // ids in a chunk
	specChunks = 1 << 14                // chunks in the table
	maxSpecs   = specChunk * specChunks // 16.7 million different specs
)

// specTable holds each spec in use once, so that an entry stores 4 bytes
// instead of 32. An id is good for whoever holds a reference; an entry holds
// one, and who has its slot's lock may read through it without another lock.
// A spec goes when its last reference does.
//
// That is safe without atomic pointers. An id's record is written before the
// id is first handed out, and cleared only after the last release, which
// itself came after the last read: both through a slot's lock.
type specTable struct {
	chunks [specChunks]*[specChunk]*specRecord

	mu   sync.RWMutex // write: ids appear and go; read: references to known ids are taken
	ids  map[limit.Spec]uint32
	free []uint32 // ids that were used and are free
	peak int      // most specs since ids was last built anew
}

type specRecord struct {
	spec limit.Spec
	refs atomic.Int64
}

func newSpecTable() *specTable { return &specTable{ids: map[limit.Spec]uint32{}} }

// at returns the spec of an id, whatever flags stand beside it, to which the caller, or an entry whose lock
// the caller holds, has a reference.
func (t *specTable) at(id uint32) *limit.Spec { return &t.record(id).spec }

func (t *specTable) record(id uint32) *specRecord {
	return t.chunks[id/specChunk%specChunks][id%specChunk]
}

// acquire takes a reference to spec. added says that the spec is new here;
// ok is false when the table is full.
func (t *specTable) acquire(spec limit.Spec) (id uint32, added, ok bool) {
	t.mu.RLock()
	id, ok = t.ids[spec]
	if ok {
		t.record(id).refs.Add(1)
	}
	t.mu.RUnlock()
	if ok {
		return id, false, true
	}
	return t.add(spec)
}

func (t *specTable) add(spec limit.Spec) (id uint32, added, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if id, ok = t.ids[spec]; ok { // somebody was faster
		t.record(id).refs.Add(1)
		return id, false, true
	}
	if n := len(t.free); n > 0 {
		id, t.free = t.free[n-1], t.free[:n-1]
	} else {
		if len(t.ids) == maxSpecs {
			return 0, false, false
		}
		id = uint32(len(t.ids)) // no id is free, so they are 0..len-1
	}
	chunk := &t.chunks[id/specChunk]
	if *chunk == nil {
		*chunk = new([specChunk]*specRecord)
	}
	r := &specRecord{spec: spec}
	r.refs.Store(1)
	(*chunk)[id%specChunk] = r
	t.ids[spec] = id
	t.peak = max(t.peak, len(t.ids))
	return id, true, true
}

// release gives a reference back; removed says that it was the last and that
// the spec is gone.
func (t *specTable) release(id uint32) (removed bool) {
	id &= maxSpecs - 1
	if t.record(id).refs.Add(-1) > 0 {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	// Since the count fell to zero somebody may have taken the spec up again,
	// or have taken it up, released and removed it, and the id may even serve
	// another spec. Whoever finds a record without references removes it.
	r := t.record(id)
	if r == nil || r.refs.Load() > 0 {
		return false
	}
	t.chunks[id/specChunk][id%specChunk] = nil
	delete(t.ids, r.spec)
	t.free = append(t.free, id)
	return true
}

// compact gives back the room that a much larger set of specs took; a map
// never does.
func (t *specTable) compact() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.peak < specChunk || len(t.ids) > t.peak/4 {
		return
	}
	ids := make(map[limit.Spec]uint32, len(t.ids))
	for spec, id := range t.ids {
		ids[spec] = id
	}
	t.ids, t.peak = ids, len(ids)
}

// len is the number of specs in use.
func (t *specTable) len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.ids)
}
