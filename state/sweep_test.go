package state

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/limit"
)

func TestSweepDeletesWhatIsFullAndIdle(t *testing.T) {
	idle := DefaultSweepIdle.Nanoseconds()
	short := limit.Spec{Limit: 1000, Window: second, Burst: 1000} // full after 1 ms
	for _, tt := range []struct {
		name string
		spec limit.Spec
		at   int64 // since the last admission
		goes bool
	}{
		{"full, not idle", short, second, false},
		{"full, idle for not quite long enough", short, idle, false},
		{"full and idle", short, idle + second, true},
		{"idle, not full", perYear, 100 * idle, false},
		{"full and idle for years", perYear, 20 * 365 * day, true},
		{"the clock was set back", short, -day, false},
		{"the clock was set back for years", short, -4 * 365 * day, false},
	} {
		s := newStore(t)
		mustDecide(t, s, "k", tt.spec, take(1), start)
		want := SweepResult{Slots: Slots, Keys: 1}
		if tt.goes {
			want.Deleted = 1
		}
		if got := s.Sweep(start+tt.at, Slots); got != want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, want)
		}
		if got := s.Stats(); got.Swept != int64(want.Deleted) || got.Sweeps != 1 {
			t.Errorf("%s: %+v", tt.name, got)
		}
		checkStore(t, s)
	}
}

// What is not admitted does not keep a key.
func TestDenialsDoNotKeepAKey(t *testing.T) {
	s := newStore(t, func(c *Config) { c.SweepIdle = 10 * time.Second })
	mustDecide(t, s, "k", perMinute, take(1), start)
	for at := start; at < start+20*second; at += second {
		mustDecide(t, s, "k", perMinute, take(101), at)
		mustDecide(t, s, "k", perMinute, limit.Request{Cost: 1, Peek: true}, at)
		mustDecide(t, s, "k", perMinute, limit.Request{}, at)
	}
	if r := s.Sweep(start+20*second, Slots); r.Deleted != 1 {
		t.Errorf("%+v: a key was kept by what was not admitted", r)
	}
}

// A time that is changed counts from the next sweep on; one that is refused
// changes nothing.
func TestSetSweepIdle(t *testing.T) {
	s := newStore(t)
	for _, row := range []struct {
		idle    time.Duration
		refused bool
		least   int64 // ns idle, within two steps, after which a sweep deletes
	}{
		{30 * time.Second, false, 30 * second},
		{-1, true, 30 * second},
		{2 * time.Hour, false, 7200 * second},
		{0, false, DefaultSweepIdle.Nanoseconds()},
		{time.Nanosecond, false, 1},
	} {
		if err := s.SetSweepIdle(row.idle); (err != nil) != row.refused {
			t.Errorf("%s: %v", row.idle, err)
		}
		at := start + s.Stats().Sweeps*day
		mustDecide(t, s, "k", limit.Spec{Limit: 1000, Window: second, Burst: 1000}, take(1), at)
		if r := s.Sweep(at+row.least, Slots); r.Deleted != 0 {
			t.Errorf("%s: swept too early", row.idle)
		}
		if r := s.Sweep(at+row.least+second, Slots); r.Deleted != 1 {
			t.Errorf("%s: not swept", row.idle)
		}
	}
}

// Changes and sweeps go on at the same time. Keys in use stay, whatever the
// time is, and in the end one of those that were set counts.
func TestSetSweepIdleWhileSweeping(t *testing.T) {
	s := newStore(t)
	for i := range 1000 {
		key := testKey(i)
		mustDecide(t, s, string(key[:]), perYear, take(500), start)
	}
	inParallel(func(g int, _ *rand.Rand) {
		for i := range 50 {
			if err := s.SetSweepIdle(time.Duration(1+(g+i)%7) * time.Second); err != nil {
				t.Error(err)
			}
			s.Sweep(start+day, 100)
		}
	})
	if got := s.Len(); got != 1000 {
		t.Errorf("%d of 1000 keys in use are left", got)
	}
	if got := s.sweepIdle.Load(); got < second || got > 7*second {
		t.Errorf("sweepIdle = %d", got)
	}
	checkStore(t, s)
}

// TestSweepIsNotNoticed: with time running forwards, a swept store decides as
// one that never is.
func TestSweepIsNotNoticed(t *testing.T) {
	specs := modelSpecs()
	rapid.Check(t, func(t *rapid.T) {
		idle := time.Duration(rapid.Int64Range(1, 10*second).Draw(t, "idle"))
		var stores [2]*Store
		for i := range stores {
			stores[i], _ = New(Config{Hash: testHash, Rand: testRand(1), SweepIdle: idle})
		}
		now := start
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.Int64Range(0, 30*second).Draw(t, "wait")
			key := fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "key"))
			spec := rapid.SampledFrom(specs).Draw(t, "spec")
			cost := rapid.Int64Range(0, 6).Draw(t, "cost")
			want := mustDecide(t, stores[0], key, spec, take(cost), now)
			got := mustDecide(t, stores[1], key, spec, take(cost), now)
			if got != want {
				t.Fatalf("%+v after a sweep, %+v without", got, want)
			}
			for i := range 4 {
				stores[1].sweepNext.Store(uint64(Slot([]byte(fmt.Sprint(i)))))
				stores[1].Sweep(now, 1)
			}
		}
	})
}

// What is admitted does, also when the key is as good as full again.
func TestAdmissionsKeepAKey(t *testing.T) {
	s := newStore(t, func(c *Config) { c.SweepIdle = 10 * time.Second })
	for at := start; at < start+60*second; at += 5 * second {
		mustDecide(t, s, "k", perMinute, take(1), at)
		if r := s.Sweep(at+4*second, Slots); r.Deleted != 0 {
			t.Fatalf("swept at +%ds, four seconds after it was charged", (at-start)/second+4)
		}
	}
}

// Slots are visited in turn, however many at a time.
func TestSweepGoesRound(t *testing.T) {
	s := newStore(t)
	for i := range 1000 {
		mustDecide(t, s, fmt.Sprint(i), perMinute, take(1), start)
	}
	keys, slots := 0, 0
	for _, n := range []int{1, 7, 0, -5, 1000, Slots - 1008} {
		r := s.Sweep(start, n)
		keys += r.Keys
		slots += r.Slots
	}
	if keys != 1000 || slots != Slots {
		t.Errorf("one round saw %d keys in %d slots", keys, slots)
	}
	if r := s.Sweep(start, 10*Slots); r.Slots != Slots || r.Keys != 1000 {
		t.Errorf("more than all slots: %+v", r)
	}
	if got := s.Stats().Sweeps; got != 2 {
		t.Errorf("%d rounds, want 2", got)
	}
}

// Many keys behind one tag are swept in batches, in any number.
func TestSweepOneSlot(t *testing.T) {
	for _, hash := range hashes() {
		for _, n := range []int{1, walkBatch - 1, walkBatch, walkBatch + 1, 5*walkBatch + 3} {
			s := newStore(t, func(c *Config) { c.Hash = hash })
			for i := range n {
				spec := perMinute
				if i%10 == 0 {
					spec = perYear
				}
				mustDecide(t, s, fmt.Sprint("{tag}", i), spec, take(100), start)
			}
			stay := (n + 9) / 10
			if r := s.Sweep(start+day, Slots); r.Keys != n || r.Deleted != n-stay {
				t.Errorf("%d keys: %+v, want %d to stay", n, r, stay)
			}
			checkStore(t, s)
		}
	}
}

// TestMemoryComesBack: keys that come once cost memory only until they are
// full and idle, also where each slot keeps a key.
func TestMemoryComesBack(t *testing.T) {
	keys := 1_000_000
	if quick() {
		keys = 100_000
	}
	before := heap()
	s := newStore(t)
	base := heap() - before
	for i := range Slots {
		key := testKey(-i - 1)
		mustDecide(t, s, string(key[:]), perYear, take(500), start)
	}
	few := s.Stats().MemoryBytes
	s.Sweep(start, Slots)
	heapFew := heap() - before

	for i := range keys {
		key := testKey(i)
		if _, err := s.Decide(key[:], perMinute, take(1), start); err != nil {
			t.Fatal(err)
		}
	}
	s.Sweep(start, Slots)
	accounted, held := s.Stats().MemoryBytes, heap()-before
	perKey := float64(held) / float64(s.Len())
	t.Logf("%d keys: %d bytes accounted, %d of heap, %.1f a key", s.Len(), accounted, held, perKey)
	if diff := float64(held-base) / float64(accounted); diff < 0.8 || diff > 1.25 {
		t.Errorf("%d bytes are accounted, %d are held", accounted, held-base)
	}
	if perKey > 100 && !quick() {
		t.Errorf("a key of 16 bytes takes %.1f bytes of heap", perKey)
	}

	r := s.Sweep(start+day, Slots)
	if r.Deleted != keys {
		t.Errorf("%d keys were swept, want %d", r.Deleted, keys)
	}
	if got := s.Stats().MemoryBytes; got != few {
		t.Errorf("%d bytes are accounted, %d were at the start", got, few)
	}
	if after := heap() - before; after > heapFew+1<<20 {
		t.Errorf("%d bytes are held, %d were at the start", after, heapFew)
	}
	checkStore(t, s)
}
