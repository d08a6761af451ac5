package state

import (
	"math/rand/v2"
	"testing"
)

// checkSketch checks that cells are marked if and only if they are listed.
func checkSketch(tb testing.TB, s *sketch) {
	tb.Helper()
	marked := 0
	for i := range s.cells {
		for _, c := range s.cells[i] {
			if c.count&listedBit != 0 {
				marked++
			}
		}
	}
	if marked != len(s.listed) || len(s.listed) > sketchListed || cap(s.listed) > 2*sketchListed {
		tb.Errorf("%d cells are marked, %d keys listed in room for %d", marked, len(s.listed), cap(s.listed))
	}
	for _, k := range s.listed {
		if c := s.cell(k.hash); c == nil || c.count&listedBit == 0 {
			tb.Errorf("%q is listed, its cell is not", k.key)
		}
	}
	for _, k := range s.listed[len(s.listed):cap(s.listed)] {
		if k.key != "" {
			tb.Errorf("%q fell out and is still held", k.key)
		}
	}
}

func TestSketchIsExactWhileThereIsRoom(t *testing.T) {
	s := new(sketch)
	for round := range 5 {
		for i := range sketchListed / 2 {
			key := testKey(i)
			s.add(testHash(key[:]), key[:], 0)
			if got := s.times(testHash(key[:])); got != uint32(round+1) {
				t.Errorf("key %d: %d, want %d", i, got, round+1)
			}
		}
	}
	if len(s.listed) != sketchListed/2 {
		t.Errorf("%d keys are listed, want %d", len(s.listed), sketchListed/2)
	}
	checkSketch(t, s)
	s.cell(s.listed[3].hash).count &^= listedBit
	s.unlist(3)
	checkSketch(t, s)
	if s.clear(); s.times(testHash([]byte("x"))) != 0 || len(s.listed) != 0 {
		t.Error("clear left something")
	}
	checkSketch(t, s)
}

// A frequent key is not worn down by a flood of keys that come once, and the
// flood is not copied.
func TestSketchGuardsTheFrequent(t *testing.T) {
	s := new(sketch)
	random := rand.New(rand.NewPCG(1, 2))
	hot := []byte("hot")
	for range 200 {
		s.add(testHash(hot), hot, random.Uint32())
	}
	flood := func(from, n int) {
		for i := range n {
			key := testKey(from + i)
			s.add(testHash(key[:]), key[:], random.Uint32())
		}
	}
	flood(0, 100_000)
	checkSketch(t, s)
	if got := s.times(testHash(hot)); got != 200 {
		t.Errorf("the hot key's count went from 200 to %d", got)
	}
	copies := testing.AllocsPerRun(1, func() { flood(200_000, 100_000) })
	if copies > 5000 {
		t.Errorf("%v keys of 100,000 were copied", copies)
	}
	checkSketch(t, s)
}

// In a bucket of nothing but listed cells a new key still can take one.
func TestSketchListedCellsWearToo(t *testing.T) {
	s := new(sketch)
	same := func(i int) uint64 { return uint64(i+1) << 32 } // all in one bucket
	for i := range sketchCells {
		s.add(same(i), []byte{byte(i)}, 0)
	}
	if len(s.listed) != sketchCells {
		t.Fatalf("%d listed", len(s.listed))
	}
	s.add(same(100), []byte("new"), 0) // 0: the least random number always wears
	checkSketch(t, s)
	if s.times(same(100)) != 1 || len(s.listed) != sketchCells {
		t.Errorf("the new key has %d, %d are listed", s.times(same(100)), len(s.listed))
	}
	s.add(same(101), []byte("newer"), 1<<32-1) // the largest never does
	if s.times(same(101)) != 0 {
		t.Error("a count was worn down against all odds")
	}
}

func TestSketchSaturates(t *testing.T) {
	s := new(sketch)
	key := []byte("k")
	s.add(testHash(key), key, 0)
	s.cell(testHash(key)).count = listedBit | (listedBit - 2)
	for range 5 {
		s.add(testHash(key), key, 0)
	}
	if got := s.times(testHash(key)); got != listedBit-1 {
		t.Errorf("count = %d", got)
	}
}
