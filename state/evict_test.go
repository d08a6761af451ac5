package state

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/rlserver/rlserver/limit"
)

// room is MaxMemory for so many short keys of so many specs, and for what is
// reserved for the spec of another.
func room(keys, specs int64) int64 {
	return keys*(entryBytes+placeBytes+16) + (specs+1)*specBytes
}

func TestEvictsWhatIsFullFirst(t *testing.T) {
	s := newStore(t, maxMemory(room(10, 2)))
	for i := range 10 {
		key := fmt.Sprint("full", i)
		if i%2 == 0 {
			key = fmt.Sprint("used", i)
		}
		spec := perMinute
		if i%2 == 0 {
			spec.Burst = 99 // a spec of its own
			mustDecide(t, s, key, spec, take(99), start+29*second)
			continue
		}
		mustDecide(t, s, key, spec, take(50), start)
	}
	for i := range 5 {
		mustDecide(t, s, fmt.Sprint("new", i), perMinute, take(100), start+30*second)
	}
	if got := s.Stats(); got.EvictedFull != 5 || got.EvictedNotFull != 0 {
		t.Errorf("%+v: want all 5 full ones evicted and no other", got)
	}
	for i := 0; i < 10; i += 2 {
		if _, ok := s.FullIn([]byte(fmt.Sprint("used", i)), start+30*second); !ok {
			t.Errorf("used%d is gone", i)
		}
	}
	checkStore(t, s)
}

func TestEvictsWhatIsFullSoonest(t *testing.T) {
	s := newStore(t, maxMemory(room(10, 1)))
	for i := range int64(10) {
		mustDecide(t, s, fmt.Sprint(i), perMinute, take(10+i), start)
	}
	// All are in each sample, so the order is exact: 0, 1, 2 ...
	for i := range 5 {
		mustDecide(t, s, fmt.Sprint("new", i), perMinute, take(100), start)
		for old := range 10 {
			if _, ok := s.FullIn([]byte(fmt.Sprint(old)), start); ok != (old > i) {
				t.Errorf("after %d evictions key %d is there: %v", i+1, old, ok)
			}
		}
	}
	if got := s.Stats(); got.EvictedFull != 0 || got.EvictedNotFull != 5 || got.MemoryBytes > got.MaxMemory {
		t.Errorf("%+v", got)
	}
	checkStore(t, s)
}

// Room is not made for what is denied, probed, or known.
func TestEvictsOnlyForNewState(t *testing.T) {
	s := newStore(t, maxMemory(room(10, 1)))
	for i := range 10 {
		mustDecide(t, s, fmt.Sprint(i), perMinute, take(1), start)
	}
	mustDecide(t, s, "new", perMinute, take(101), start)
	mustDecide(t, s, "new", perMinute, limit.Request{Cost: 1, Peek: true}, start)
	mustDecide(t, s, "new", perMinute, limit.Request{}, start)
	mustDecide(t, s, "5", perMinute, take(10), start)
	if got := s.Stats(); got.Keys != 10 || got.EvictedFull+got.EvictedNotFull != 0 {
		t.Errorf("%+v", got)
	}
}

// A log that grows makes room for itself, and never by its own eviction,
// though it is the one that will be full soonest.
func TestLogGrowthEvictsOthers(t *testing.T) {
	s := newStore(t, maxMemory(100_000))
	log := limit.Spec{Limit: 1500, Window: second, Burst: 1500, Algorithm: limit.SlidingLog}
	for i := range 1000 {
		mustDecide(t, s, fmt.Sprint(i), perYear, take(100), start)
	}
	for i := range int64(1500) {
		d := mustDecide(t, s, "log", log, take(1), start+i)
		if d.Allowed != 1 || d.Remaining != 1499-i {
			t.Fatalf("request %d: %+v", i, d)
		}
		if got := s.Stats(); got.MemoryBytes > got.MaxMemory {
			t.Fatalf("request %d: %+v", i, got)
		}
	}
	if d := mustDecide(t, s, "log", log, take(1), start+1500); d.Allowed != 0 {
		t.Errorf("%+v: more than the limit", d)
	}
	if got := s.Stats(); got.EvictedNotFull == 0 {
		t.Errorf("%+v: the log did not need room", got)
	}
	checkStore(t, s)
}

// Between the sample and the eviction the lock was free.
func TestEvictionLooksAgain(t *testing.T) {
	s := newStore(t)
	mustDecide(t, s, "k", perMinute, take(10), start)
	at := s.locate([]byte("k"))
	h, sl := at.hash, at.slot
	var chosen candidate
	s.sample(sl, start, asker{}, &chosen)

	mustDecide(t, s, "k", perMinute, take(1), start)
	s.evictCandidate(chosen, start)
	if s.Len() != 1 {
		t.Error("a bucket was evicted that was charged since it was chosen")
	}
	s.sample(sl, start, asker{}, &chosen)
	if want := int64(6 * second / 10); chosen.forgets != want {
		t.Errorf("a candidate was replaced by one that forgets more: %d, want %d", chosen.forgets, want)
	}
	chosen = candidate{}
	s.sample(sl, start, asker{sl, h}, &chosen)
	if chosen.entry != nil {
		t.Error("the asker's own bucket was chosen")
	}
	s.sample(sl, start, asker{}, &chosen)
	s.Reset([]byte("k"), start)
	mustDecide(t, s, "k", perMinute, take(10), start)
	s.evictCandidate(chosen, start)
	if s.Len() != 1 {
		t.Error("a bucket was evicted in the place of one that was gone")
	}
	checkStore(t, s)
}

// Many keys behind one tag displace each other before they displace others.
func TestFloodBehindOneTag(t *testing.T) {
	s := newStore(t, maxMemory(room(20_000, 1)))
	for i := range 10_000 {
		mustDecide(t, s, fmt.Sprint(i), perMinute, take(10), start)
	}
	flood := 100_000
	if quick() {
		flood = 30_000
	}
	for i := range flood {
		mustDecide(t, s, fmt.Sprint("{tag}", i), perMinute, take(1), start)
	}
	left := 0
	for i := range 10_000 {
		if _, ok := s.FullIn([]byte(fmt.Sprint(i)), start); ok {
			left++
		}
	}
	if left != 10_000 {
		t.Errorf("%d of 10,000 keys are left", left)
	}
	checkStore(t, s)
}

// Whatever the rule, a key that is spent outlives a flood of keys of which a
// unit is used each, under the same rule or one that refills more slowly.
func TestFloodUnderEveryRule(t *testing.T) {
	flood := 60_000
	if quick() {
		flood = 20_000
	}
	type floodCase struct{ spent, flood limit.Spec }
	cases := map[string]floodCase{
		"a slower rule": {
			limit.Spec{Limit: 3, Window: 60 * second, Burst: 3},
			limit.Spec{Limit: 100, Window: day, Burst: 100},
		},
	}
	for _, a := range limit.Algorithms() {
		spec := limit.Spec{Algorithm: a, Limit: 3, Window: 3600 * second, Burst: 3}
		cases[a.String()] = floodCase{spec, spec}
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, maxMemory(1<<20))
			now := start
			for i := range 100 {
				mustDecide(t, s, fmt.Sprint("spent", i), tt.spent, take(3), now)
			}
			for i := range flood {
				now += 10_000
				mustDecide(t, s, fmt.Sprint("new", i), tt.flood, take(1), now)
			}
			if s.Stats().EvictedNotFull == 0 {
				t.Fatal("the flood displaced nothing")
			}
			for i := range 100 {
				if d := mustDecide(t, s, fmt.Sprint("spent", i), tt.spent, limit.Request{Cost: 1, Peek: true}, now); d.Allowed != 0 {
					t.Fatalf("spent key %d is free: %+v", i, d)
				}
			}
		})
	}
}

// TestFlood: keys that are being limited stay limited while many times more
// new keys come than there is room for. STATE_FLOOD_KEYS=5000000 makes it the
// flood of a bad day, with 64 MB.
func TestFlood(t *testing.T) {
	flood, memory := 250_000, int64(8<<20)
	if quick() {
		flood, memory = 50_000, 2<<20
	}
	if n, err := strconv.Atoi(os.Getenv("STATE_FLOOD_KEYS")); err == nil {
		flood, memory = n, 64<<20
	}
	for _, tt := range []struct {
		name string
		cost int64 // of each new key; a unit comes back in 600 ms
	}{
		{"of keys that are full soon", 1},
		{"of keys that stay used", 80},
	} {
		t.Run(tt.name, func(t *testing.T) { checkFlood(t, flood, memory, tt.cost) })
	}
}

func checkFlood(t *testing.T, flood int, memory, cost int64) {
	t.Helper()
	s := newStore(t, maxMemory(memory))
	const limited = 20
	alone := [limited]limit.Bucket{} // what each would be in a store of its own
	refused := 0
	now := start
	ask := func(i int) {
		want, _ := limit.Decide(perMinute, perMinute, &alone[i], now, take(1))
		if got := mustDecide(t, s, fmt.Sprint("limited", i), perMinute, take(1), now); got != want {
			t.Fatalf("limited key %d at +%d: %+v, alone %+v", i, now-start, got, want)
		}
		if want.Allowed == 0 {
			refused++
		}
	}
	for i := range limited {
		for range 101 {
			ask(i)
		}
	}
	for i := range flood {
		now += 20_000 // 50,000 new keys a second
		key := testKey(i)
		mustDecide(t, s, string(key[:]), perMinute, take(cost), now)
		if i%100 == 0 {
			ask(i / 100 % limited)
		}
		if got := s.memory.used.Load(); got > memory {
			t.Fatalf("%d bytes are in use, the bound is %d", got, memory)
		}
	}
	got := s.Stats()
	if refused < flood/1000 || got.EvictedFull+got.EvictedNotFull < int64(flood)/4 {
		t.Errorf("%d refused, %+v: this was no test", refused, got)
	}
	checkStore(t, s)
}

func TestLoweredMaxMemory(t *testing.T) {
	s := newStore(t)
	for i := range 5000 {
		mustDecide(t, s, fmt.Sprint(i), perMinute, take(int64(1+i%100)), start)
	}
	before := s.Stats()
	bound := before.MemoryBytes / 2
	s.SetMaxMemory(bound)
	if got := s.Stats(); got.Keys != 5000 || got.MaxMemory != bound {
		t.Errorf("%+v: nothing but the bound should have changed", got)
	}
	// New keys still find room, and it does not grow.
	for i := range 100 {
		mustDecide(t, s, fmt.Sprint("new", i), perMinute, take(100), start)
	}
	if got := s.Stats(); got.MemoryBytes > before.MemoryBytes || got.MemoryBytes < before.MemoryBytes*9/10 {
		t.Errorf("it grew, or a request did a sweep's work: %+v", got)
	}
	// Sweeps come down to the bound, little by little.
	last := s.Stats().MemoryBytes
	for sweeps := 0; s.Stats().MemoryBytes > bound; sweeps++ {
		s.Sweep(start, 1)
		now := s.Stats().MemoryBytes
		if now >= last || last-now > evictPerSlot*200 {
			t.Fatalf("one slot's sweep went from %d to %d bytes", last, now)
		}
		last = now
	}
	mustDecide(t, s, "another", perMinute, take(100), start)
	if got := s.Stats(); got.MemoryBytes > bound {
		t.Errorf("above the new bound: %+v", got)
	}
	// Raised again, there is room at once.
	evicted := s.Stats().EvictedNotFull
	s.SetMaxMemory(0)
	for i := range 5000 {
		mustDecide(t, s, fmt.Sprint("more", i), perMinute, take(1), start)
	}
	if got := s.Stats(); got.EvictedNotFull != evicted || got.MaxMemory != DefaultMaxMemory {
		t.Errorf("evicted below the bound: %+v", got)
	}
	checkStore(t, s)
}

func TestMaxMemoryTooSmallForAnything(t *testing.T) {
	s := newStore(t, maxMemory(1))
	if _, err := s.Decide([]byte("k"), perMinute, take(1), start); !errors.Is(err, ErrNoRoom) {
		t.Errorf("error %v", err)
	}
	if d := mustDecide(t, s, "k", perMinute, limit.Request{}, start); d.Remaining != 100 {
		t.Errorf("%+v", d)
	}
	checkStore(t, s)
}
