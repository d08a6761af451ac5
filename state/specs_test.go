package state

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/limit"
)

func numbered(i int) limit.Spec {
	return limit.Spec{Limit: int64(i + 1), Window: second, Burst: int64(i + 1)}
}

// TestSpecTable compares the table with a map of counts.
func TestSpecTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := newSpecTable()
		refs := map[limit.Spec]int{}
		ids := map[limit.Spec]uint32{}
		t.Repeat(map[string]func(*rapid.T){
			"acquire": func(t *rapid.T) {
				spec := numbered(rapid.IntRange(0, 9).Draw(t, "spec"))
				id, added, ok := table.acquire(spec)
				if !ok || added != (refs[spec] == 0) {
					t.Fatalf("acquire: added %v, ok %v with %d references", added, ok, refs[spec])
				}
				if refs[spec] > 0 && ids[spec] != id {
					t.Fatalf("the id of a spec in use changed from %d to %d", ids[spec], id)
				}
				refs[spec]++
				ids[spec] = id
			},
			"release": func(t *rapid.T) {
				spec := numbered(rapid.IntRange(0, 9).Draw(t, "spec"))
				if refs[spec] == 0 {
					return
				}
				refs[spec]--
				if removed := table.release(ids[spec]); removed != (refs[spec] == 0) {
					t.Fatalf("release: removed %v with %d references", removed, refs[spec])
				}
			},
			"compact": func(*rapid.T) { table.compact() },
			"": func(t *rapid.T) {
				used := 0
				for spec, n := range refs {
					if n == 0 {
						continue
					}
					used++
					if got := *table.at(ids[spec]); got != spec {
						t.Fatalf("at(%d) = %+v, want %+v", ids[spec], got, spec)
					}
				}
				if table.len() != used {
					t.Fatalf("len = %d, want %d", table.len(), used)
				}
			},
		})
	})
}

// Ids are used again, so many specs one after the other take no more room
// than many at once.
func TestSpecTableReusesIDs(t *testing.T) {
	table := newSpecTable()
	for i := range 10_000 {
		id, _, _ := table.acquire(numbered(i))
		if id != 0 {
			t.Fatalf("spec %d has id %d", i, id)
		}
		table.release(id)
	}
	for i := range 5000 {
		if id, _, _ := table.acquire(numbered(i)); id != uint32(i) {
			t.Fatalf("spec %d has id %d", i, id)
		}
	}
	for i := range 4990 {
		table.release(uint32(i))
	}
	table.compact()
	if table.peak != 10 || table.len() != 10 {
		t.Errorf("after compact: peak = %d, len = %d", table.peak, table.len())
	}
	for i := 4990; i < 5000; i++ {
		if got := *table.at(uint32(i)); got != numbered(i) {
			t.Errorf("at(%d) = %+v", i, got)
		}
	}
}

// TestSpecTableConcurrently takes and releases the same few specs from many
// goroutines, so that most releases race with somebody who takes the spec up.
func TestSpecTableConcurrently(t *testing.T) {
	table := newSpecTable()
	var added, removed atomic.Int64
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 3000 {
				spec := numbered((g*31 + i*7) % 3)
				id, isNew, ok := table.acquire(spec)
				if !ok {
					t.Error("the table is full")
					return
				}
				if isNew {
					added.Add(1)
				}
				if got := *table.at(id); got != spec {
					t.Errorf("at(%d) = %+v, want %+v", id, got, spec)
					return
				}
				if table.release(id) {
					removed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if added.Load() != removed.Load() || table.len() != 0 {
		t.Errorf("%d specs were added and %d removed, %d are left", added.Load(), removed.Load(), table.len())
	}
}

// Specs are charged for, so rules cannot use up memory unseen.
func TestManySpecsAreBounded(t *testing.T) {
	const memory = 1 << 20
	s := newStore(t, maxMemory(memory))
	for i := range 20_000 {
		mustDecide(t, s, fmt.Sprint(i), numbered(i+100), take(90), start)
		if got := s.Stats(); got.MemoryBytes > memory || got.Specs > memory/specBytes {
			t.Fatalf("after %d: %+v", i, got)
		}
	}
	// One key under ever other rules keeps one.
	s.Flush()
	for i := range 1000 {
		mustDecide(t, s, "k", numbered(i+5000), take(1), start)
	}
	if got := s.Stats(); got.Specs != 1 || got.Conversions != 999 {
		t.Errorf("%+v", got)
	}
	checkStore(t, s)
}

// TestSpecBytes compares the charge for a spec with the heap.
func TestSpecBytes(t *testing.T) {
	const n = 200_000
	before := heap()
	table := newSpecTable()
	base := heap() - before
	for i := range n {
		table.acquire(numbered(i))
	}
	perSpec := float64(heap()-before-base) / n
	t.Logf("%.1f bytes a spec", perSpec)
	if perSpec > specBytes*1.25 || perSpec < specBytes*0.75 {
		t.Errorf("a spec takes %.1f bytes, %d are charged", perSpec, specBytes)
	}
	table.acquire(numbered(0))
}
