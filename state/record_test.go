package state

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/limit"
)

func collect(w Collector) func(*Config) { return func(c *Config) { c.Collect = w } }

// follow brings a copy up to date with what changed, and returns how many
// records that took.
func follow(s, mirror *Store, w Collector, now int64) (records int) {
	s.ChangedSlots(w, func(slot uint16) {
		s.Changed(w, slot, now, func(lossAt int64, batch []Record) {
			records += len(batch)
			mirror.Lose(slot, lossAt)
			mirror.Install(slot, batch, now, 0)
		})
	})
	return records
}

// copyOf is a new store with all records of slots of s.
func copyOf(tb testing.TB, s *Store, slots []uint16, now int64) *Store {
	tb.Helper()
	c := newStore(tb)
	for _, slot := range slots {
		s.Records(slot, now, func(lossAt int64, batch []Record) {
			c.Lose(slot, lossAt)
			if left := c.Install(slot, batch, now, 0); left > 0 {
				tb.Errorf("slot %d: %d records found no room", slot, left)
			}
		})
	}
	return c
}

// content is what slots hold that is not as new, one text a bucket.
func content(s *Store, slots []uint16, now int64) map[string]string {
	all := map[string]string{}
	for _, i := range slots {
		lossAt := s.slots[i].lossAt
		s.slots[i].tree.Scan(func(_ uint64, e *entry) bool {
			for ; e != nil; e = e.next() {
				spec := *s.specs.at(e.spec)
				state := bucketText(spec, e.bucket(), now)
				isNew := s.fullIn(e, now) == 0
				if e.strict() && lossAt != 0 {
					isNew = state == bucketText(spec, limit.Spent(spec, lossAt), now)
				}
				if !isNew {
					all[fmt.Sprintf("%d %q %t %t", i, e.key, e.policy(), e.strict())] = state
				}
			}
			return true
		})
	}
	return all
}

func bucketText(spec limit.Spec, b limit.Bucket, now int64) string {
	text := fmt.Sprintf("%+v %d %d %d", spec, b.A, b.B, b.C)
	for at, units := range b.Log.All() {
		if now-at < spec.Window {
			text += fmt.Sprintf(" %d:%d", at, units)
		}
	}
	return text
}

// sameContent fails unless two stores hold the same.
func sameContent(tb rapid.TB, what string, got, want *Store, slots []uint16, now int64) {
	tb.Helper()
	g, w := content(got, slots, now), content(want, slots, now)
	for key, text := range w {
		if g[key] != text {
			tb.Errorf("%s: %s is %q, want %q", what, key, g[key], text)
		}
	}
	for key := range g {
		if w[key] == "" {
			tb.Errorf("%s: %s is there and should not be", what, key)
		}
	}
	for _, slot := range slots {
		if got.LossAt(slot) != want.LossAt(slot) {
			tb.Errorf("%s: slot %d lost at %d, want %d", what, slot, got.LossAt(slot), want.LossAt(slot))
		}
	}
}

// TestCopiesFollow does everything to a store that changes buckets. A copy
// that is told now and then what changed is always the same, as is one made
// from all records; a second collector goes its own way.
func TestCopiesFollow(t *testing.T) {
	test := t
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.Bool().Draw(t, "small")
		s := newStore(test, collect(ForDisk|ForReplica), func(c *Config) {
			if small { // so that it evicts
				c.MaxMemory = room(6, 3)
			}
			if rapid.Bool().Draw(t, "collide") {
				c.Hash = func([]byte) uint64 { return 42 }
			}
		})
		disk, replica := newStore(test), newStore(test)
		now := start
		names := []string{"{t}a", "{t}b", "{t}c", "d", "e", "f", "g", "h"}
		keys := rapid.SampledFrom(names)
		specs := rapid.SampledFrom([]limit.Spec{
			perMinute,
			{Limit: 5, Window: 10 * second, Burst: 5, Algorithm: limit.SlidingLog},
			{Limit: 5, Window: 10 * second, Burst: 5, Algorithm: limit.SlidingWindow},
			{Limit: 5, Window: 10 * second, Burst: 5, Algorithm: limit.FixedWindow},
			{Limit: 5, Window: 10 * second, Burst: 3, Algorithm: limit.LeakyBucket},
		})
		request := func() limit.Request { return take(rapid.Int64Range(0, 3).Draw(t, "cost")) }
		drawAsk := func(i int) Ask {
			key := keys.Draw(t, "key")
			a := ask(key, specs.Draw(t, "spec"))
			a.Slot, a.Key = Slot([]byte(key)), append(a.Key, byte(i))
			a.Strict = rapid.Bool().Draw(t, "strict")
			return a
		}
		t.Repeat(map[string]func(*rapid.T){
			"decide": func(t *rapid.T) {
				_, _ = s.Decide([]byte(keys.Draw(t, "key")), specs.Draw(t, "spec"), request(), now)
			},
			"policies": func(t *rapid.T) {
				var asks []Ask
				for i := range rapid.IntRange(1, 3).Draw(t, "asks") {
					asks = append(asks, drawAsk(i))
				}
				_, _ = s.DecideAll(asks, request(), now, make([]limit.Decision, len(asks)))
			},
			"wait":   func(t *rapid.T) { now += rapid.Int64Range(0, 4*second).Draw(t, "wait") },
			"refund": func(t *rapid.T) { _, _, _, _ = s.Refund([]byte(keys.Draw(t, "key")), 1, now) },
			"reset":  func(t *rapid.T) { s.Reset([]byte(keys.Draw(t, "key")), now) },
			"reset policy": func(t *rapid.T) {
				a := drawAsk(0)
				s.ResetPolicy(a.Slot, a.Key, now)
			},
			"lose":  func(t *rapid.T) { s.Lose(Slot([]byte(keys.Draw(t, "key"))), now) },
			"flush": func(*rapid.T) { s.Flush() },
			"sweep": func(*rapid.T) { s.Sweep(now, Slots) },
			"whole": func(t *rapid.T) {
				slot := Slot([]byte(keys.Draw(t, "key")))
				s.Install(slot, []Record{{Gone: true, All: true}}, now, 0)
			},
			"to disk":    func(*rapid.T) { follow(s, disk, ForDisk, now) },
			"to replica": func(*rapid.T) { follow(s, replica, ForReplica, now) },
			"": func(t *rapid.T) {
				checkStore(t, s)
			},
		})
		follow(s, disk, ForDisk, now)
		follow(s, replica, ForReplica, now)
		var slots []uint16
		for _, name := range names[2:] {
			slots = append(slots, Slot([]byte(name)))
		}
		sameContent(t, "disk", disk, s, slots, now)
		sameContent(t, "replica", replica, s, slots, now)
		sameContent(t, "copy", copyOf(test, s, slots, now), s, slots, now)
		if n := follow(s, disk, ForDisk, now); n > 0 {
			t.Errorf("%d records are told twice", n)
		}
		if len(s.changes.gone) > 0 || s.changes.bytes != 0 {
			t.Errorf("%d slots have keys that are gone, %d bytes", len(s.changes.gone), s.changes.bytes)
		}
		checkStore(t, disk)
	})
}

func TestDenialsAndProbesChangeNothing(t *testing.T) {
	s, mirror := newStore(t, collect(ForDisk)), newStore(t)
	strictAsk := strict(ask("p", perMinute))
	mustDecide(t, s, "k", perMinute, take(100), start)
	decideAll(t, s, take(100), start, strictAsk)
	if n := follow(s, mirror, ForDisk, start); n != 2 {
		t.Errorf("%d records, want 2", n)
	}
	for _, req := range []limit.Request{take(1), take(0), {Cost: 1, Peek: true}} {
		mustDecide(t, s, "k", perMinute, req, start+1)
		mustDecide(t, s, "new", perMinute, limit.Request{Cost: req.Cost, Peek: true}, start+1)
		decideAll(t, s, req, start, strictAsk)
	}
	if _, _, _, err := s.Refund([]byte("k"), 0, start); err != nil {
		t.Fatal(err)
	}
	s.ChangedSlots(ForDisk, func(slot uint16) { t.Errorf("slot %d changed", slot) })
}

func TestWithoutCollectorsNothingPilesUp(t *testing.T) {
	s := newStore(t, maxMemory(room(4, 1)))
	for i := range 100 {
		key := testKey(i)
		mustDecide(t, s, string(key[:]), perMinute, take(1), start)
		s.Reset(key[:], start)
	}
	s.ChangedSlots(anyCollector, func(slot uint16) { t.Errorf("slot %d changed", slot) })
	if s.changes.bytes != 0 {
		t.Errorf("%d bytes of keys that are gone", s.changes.bytes)
	}
}

// TestManyDeletionsAreBounded: what nobody comes for does not pile up, and is
// made good by telling the slot anew.
func TestManyDeletionsAreBounded(t *testing.T) {
	s, mirror := newStore(t, collect(ForDisk)), newStore(t)
	key := func(i int) []byte { return fmt.Appendf(nil, "{t}%d%s", i, strings.Repeat("k", 4000)) }
	n := int(maxGone/4000 + 100)
	for i := range n {
		mustDecide(t, s, string(key(i)), perMinute, take(1), start)
	}
	mustDecide(t, s, "{t}stays", perMinute, take(1), start)
	follow(s, mirror, ForDisk, start)
	for i := range n {
		s.Reset(key(i), start)
	}
	if s.changes.bytes > maxGone {
		t.Errorf("%d bytes of keys that are gone", s.changes.bytes)
	}
	follow(s, mirror, ForDisk, start)
	sameContent(t, "mirror", mirror, s, []uint16{Slot(key(0))}, start)
	if mirror.Len() != 1 || s.changes.bytes != 0 {
		t.Errorf("%d keys, %d bytes", mirror.Len(), s.changes.bytes)
	}
}

// TestBatchesAreBounded: neither a slot of many keys nor one of long logs is
// locked for long.
func TestBatchesAreBounded(t *testing.T) {
	s := newStore(t)
	log := limit.Spec{Limit: 10_000, Window: day, Burst: 10_000, Algorithm: limit.SlidingLog}
	for i := range 1000 {
		mustDecide(t, s, fmt.Sprintf("{t}%d", i), perMinute, take(1), start)
	}
	for i := range 10 {
		for n := range 3000 {
			mustDecide(t, s, fmt.Sprintf("{t}log%d", i), log, take(1), start+int64(n))
		}
	}
	all, batches := 0, 0
	s.Records(Slot([]byte("{t}")), start+3000, func(_ int64, batch []Record) {
		entries := 0
		for i := range batch {
			for range batch[i].Bucket.Log.All() {
				entries++
			}
		}
		if len(batch) > batchWork || entries > 3000+batchWork*logPerWork {
			t.Errorf("a batch of %d with %d entries", len(batch), entries)
		}
		all += len(batch)
		batches++
	})
	if all != 1010 || batches < 12 {
		t.Errorf("%d records in %d batches", all, batches)
	}
}

func TestRecordsAreCopies(t *testing.T) {
	s := newStore(t)
	log := limit.Spec{Limit: 10, Window: day, Burst: 10, Algorithm: limit.SlidingLog}
	mustDecide(t, s, "k", log, take(1), start)
	s.Records(Slot([]byte("k")), start, func(_ int64, batch []Record) {
		batch[0].Key[0] = 'x'
		batch[0].Bucket.Log.Add(start, 9)
	})
	if d := mustDecide(t, s, "k", log, take(0), start); d.Remaining != 9 {
		t.Errorf("%d remain, want 9", d.Remaining)
	}
}

func TestInstallWithoutRoom(t *testing.T) {
	s := newStore(t, maxMemory(room(2, 1)))
	slot := Slot([]byte("k"))
	debt := limit.Bucket{A: start + 30*second}
	records := []Record{
		{Key: []byte("p1"), Policy: true, Strict: true, Spec: perMinute, Bucket: debt},
		{Key: []byte("p2"), Policy: true, Strict: true, Spec: perMinute, Bucket: debt},
		{Key: []byte("p3"), Policy: true, Strict: true, Spec: perMinute, Bucket: debt},
		{Key: []byte("full"), Policy: true, Spec: perMinute},
	}
	if left := s.Install(slot, records, start, 0); left == 0 || s.LossAt(slot) != start {
		t.Errorf("%d had no room, lost at %d", left, s.LossAt(slot))
	}
	checkStore(t, s)
	if _, ok := s.InspectPolicy(slot, []byte("full"), start); ok {
		t.Error("a full bucket was made")
	}
	if info, ok := s.InspectPolicy(slot, []byte("p1"), start); !ok || info.Remaining != 0 {
		t.Errorf("p1: %+v, %t", info, ok)
	}
}

func TestMarkingDoesNotAllocate(t *testing.T) {
	s, mirror := newStore(t, collect(ForDisk|ForReplica)), newStore(t)
	key := []byte("k")
	decide := func() {
		if _, err := s.Decide(key, perYear, take(1), start); err != nil {
			t.Fatal(err)
		}
	}
	decide()
	for range 3 {
		follow(s, mirror, ForDisk, start)
		if n := testing.AllocsPerRun(50, decide); n > 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

// TestChangesConcurrently: what is gathered while others decide leads to what
// is there in the end.
func TestChangesConcurrently(t *testing.T) {
	s := newStore(t, collect(ForDisk|ForReplica))
	disk, replica := newStore(t), newStore(t)
	spec := limit.Spec{Limit: 50, Window: day, Burst: 50, Algorithm: limit.SlidingLog}
	name := func(r *rand.Rand) []byte { return fmt.Appendf(nil, "{%d}%d", r.IntN(4), r.IntN(100)) }
	inParallel(func(_ int, r *rand.Rand) {
		for range 500 {
			key := name(r)
			switch r.IntN(10) {
			case 0:
				if r.IntN(20) == 0 {
					s.evict(start, asker{})
				}
				s.Reset(key, start)
			case 1:
				_, _, _, _ = s.Refund(key, 1, start)
			case 2:
				_, _ = s.DecideAll([]Ask{ask(string(key), perYear), strict(ask("{0}s", perYear))}, take(1), start, make([]limit.Decision, 2))
			case 3:
				_, _ = s.Decide(key, spec, take(1), start)
			default:
				_, _ = s.Decide(key, perYear, take(1), start)
			}
		}
	}, func(*rand.Rand) { follow(s, disk, ForDisk, start) }, func(*rand.Rand) { follow(s, replica, ForReplica, start) })
	follow(s, disk, ForDisk, start)
	follow(s, replica, ForReplica, start)
	var slots []uint16
	for i := range 4 {
		slots = append(slots, Slot(fmt.Appendf(nil, "{%d}", i)))
	}
	sameContent(t, "disk", disk, s, slots, start)
	sameContent(t, "replica", replica, s, slots, start)
	checkStore(t, s)
	checkStore(t, disk)
	if s.Stats().EvictedNotFull == 0 {
		t.Error("nothing was evicted")
	}
}
