package state

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// scanAll scans to the end. between is called after each call of Scan.
func scanAll(tb rapid.TB, s *Store, count int, between func()) map[string]int {
	tb.Helper()
	seen := map[string]int{}
	for cursor, first := uint64(0), true; cursor != 0 || first; first = false {
		cursor = s.Scan(cursor, count, start, func(key []byte) { seen[string(key)]++ })
		if cursor >= 1<<53 {
			tb.Fatalf("cursor %d is not below 2^53", cursor)
		}
		between()
	}
	return seen
}

// TestScanSeesWhatStays: a key that is there during a whole scan is visited,
// whatever comes and goes meanwhile.
func TestScanSeesWhatStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := New(Config{Hash: rapid.SampledFrom(hashes()).Draw(t, "hash"), Rand: testRand(1)})
		if err != nil {
			t.Fatal(err)
		}
		name := func(kind string, i int) string {
			if i%2 == 0 {
				return fmt.Sprintf("{tag}%s%d", kind, i) // many share one slot
			}
			return fmt.Sprintf("%s%d", kind, i)
		}
		stays := rapid.IntRange(0, 300).Draw(t, "stays")
		for i := range stays {
			mustDecide(t, s, name("stays", i), perMinute, take(1), start)
		}
		passing := 0
		got := scanAll(t, s, rapid.IntRange(1, 40).Draw(t, "count"), func() {
			for range rapid.IntRange(0, 3).Draw(t, "come") {
				mustDecide(t, s, name("passes", passing), perMinute, take(1), start)
				passing++
			}
			for range rapid.IntRange(0, 3).Draw(t, "go") {
				if passing > 0 {
					s.Reset([]byte(name("passes", rapid.IntRange(0, passing-1).Draw(t, "which"))), start)
				}
			}
		})
		for i := range stays {
			if got[name("stays", i)] == 0 {
				t.Errorf("%q was there all the time and was not visited", name("stays", i))
			}
		}
	})
}

// Without changes and with good hashes every key is visited once.
func TestScanVisitsOnce(t *testing.T) {
	s := newStore(t)
	for i := range 1000 {
		mustDecide(t, s, fmt.Sprint(i), perMinute, take(1), start)
		mustDecide(t, s, fmt.Sprint("{tag}", i), perMinute, take(1), start)
	}
	for _, count := range []int{1, 7, 10, 1000, math.MaxInt} {
		seen := scanAll(t, s, count, func() {})
		if len(seen) != 2000 {
			t.Errorf("count %d: %d keys visited, want 2000", count, len(seen))
		}
		for key, times := range seen {
			if times != 1 {
				t.Errorf("count %d: %q visited %d times", count, key, times)
			}
		}
	}
}

func TestScanLeavesOutFullKeys(t *testing.T) {
	s := newStore(t)
	mustDecide(t, s, "soon full", perMinute, take(1), start)
	mustDecide(t, s, "not full", perYear, take(9), start)
	var got []string
	for cursor, first := uint64(0), true; cursor != 0 || first; first = false {
		cursor = s.Scan(cursor, 10, start+day, func(key []byte) { got = append(got, string(key)) })
	}
	if !slices.Equal(got, []string{"not full"}) {
		t.Errorf("visited %q", got)
	}
}

// One call does a bounded amount of work.
func TestScanIsBounded(t *testing.T) {
	s := newStore(t)
	if next := s.Scan(0, 10, start, func([]byte) {}); next != 0 {
		t.Errorf("an empty store: one call went only to slot %d", next>>posBits)
	}
	for i := range 5000 {
		mustDecide(t, s, fmt.Sprint("{tag}", i), perMinute, take(1), start)
	}
	slot := uint64(Slot([]byte("tag")))
	visited := 0
	s.Scan(slot<<posBits, 10, start, func([]byte) { visited++ })
	if visited != 10 {
		t.Errorf("%d keys visited, want 10", visited)
	}
	next := s.Scan(slot<<posBits, 10, start+day, func([]byte) { t.Error("a full key was visited") })
	if next>>posBits != slot {
		t.Errorf("one call looked at 5000 full keys")
	}
}

func TestScanGarbageCursors(t *testing.T) {
	s := newStore(t)
	for i := range 100 {
		mustDecide(t, s, fmt.Sprint(i), perMinute, take(1), start)
	}
	rapid.Check(t, func(t *rapid.T) {
		cursor, count := rapid.Uint64().Draw(t, "cursor"), rapid.Int().Draw(t, "count")
		if next := s.Scan(cursor, count, start, func([]byte) {}); next >= 1<<53 || next != 0 && next <= cursor {
			t.Fatalf("Scan(%d) = %d", cursor, next)
		}
	})
}

// The key may be used to call the store, which is not locked.
func TestVisitMayCallTheStore(t *testing.T) {
	s := newStore(t)
	for i := range 100 {
		mustDecide(t, s, fmt.Sprint("{tag}", i), perMinute, take(1), start)
	}
	s.KeysInSlot(Slot([]byte("tag")), 50, start, func(key []byte) { s.Reset(key, start) })
	if s.Len() != 50 {
		t.Errorf("%d keys left, want 50", s.Len())
	}
	scanAll(t, s, 1, func() { s.Flush() })
	checkStore(t, s)
}

func TestKeysInSlot(t *testing.T) {
	s := newStore(t, func(c *Config) { c.Hash = func(k []byte) uint64 { return testHash(k) % 2 } })
	slot := Slot([]byte("tag"))
	for i := range 500 {
		mustDecide(t, s, fmt.Sprint("{tag}", i), perMinute, take(1), start)
	}
	if got := s.CountInSlot(slot); got != 500 {
		t.Errorf("CountInSlot = %d, want 500", got)
	}
	for _, n := range []int{-1, 0, 1, 300, 500, 501, math.MaxInt} {
		got := map[string]bool{}
		calls := 0
		s.KeysInSlot(slot, n, start, func(key []byte) { got[string(key)] = true; calls++ })
		if want := min(max(n, 0), 500); calls != want || len(got) != want {
			t.Errorf("n = %d: %d calls for %d keys, want %d", n, calls, len(got), want)
		}
	}
	s.KeysInSlot(slot, 10, start+day, func([]byte) { t.Error("a full key was visited") })
	for _, none := range []uint16{Slots, math.MaxUint16, slot + 1} {
		if got := s.CountInSlot(none); got != 0 {
			t.Errorf("CountInSlot(%d) = %d", none, got)
		}
		s.KeysInSlot(none, 10, start, func([]byte) { t.Error("visited") })
	}
}
