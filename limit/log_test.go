package limit

import (
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// pairs is what All yields, as a list.
func pairs(l *Log) [][2]int64 {
	var all [][2]int64
	for at, units := range l.All() {
		all = append(all, [2]int64{at, units})
	}
	return all
}

// TestLogIsAList runs a Log beside a plain list of (instant, units).
func TestLogIsAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list [][2]int64
		limit := rapid.Int64Range(1, 200).Draw(t, "limit")
		l, now := new(Log), int64(0)
		if rapid.Bool().Draw(t, "wraps") {
			l.base = 1<<63 - 20
		}
		sumFrom := func(i int) (sum int64) {
			for _, e := range list[i:] {
				sum += e[1]
			}
			return sum
		}
		first := func(after int64) int {
			i := 0
			for i < len(list) && list[i][0] <= after {
				i++
			}
			return i
		}
		for range rapid.IntRange(0, 300).Draw(t, "ops") {
			now += rapid.Int64Range(0, 3).Draw(t, "step")
			switch rapid.SampledFrom([]string{"push", "push", "push", "trim", "drop"}).Draw(t, "op") {
			case "push":
				units := rapid.Int64Range(1, 5).Draw(t, "units")
				if sumFrom(0)+units > limit {
					break
				}
				l.push(now, units, limit)
				if n := len(list); n > 0 && list[n-1][0] == now {
					list[n-1][1] += units
				} else {
					list = append(list, [2]int64{now, units})
				}
			case "trim":
				to := now - rapid.Int64Range(0, 100).Draw(t, "age")
				l.trim(to)
				list = list[first(to):]
			case "drop":
				n := min(rapid.Int64Range(1, 10).Draw(t, "n"), sumFrom(0))
				l.drop(n)
				for n > 0 {
					newest := &list[len(list)-1]
					taken := min(n, newest[1])
					n -= taken
					if newest[1] -= taken; newest[1] == 0 {
						list = list[:len(list)-1]
					}
				}
			}
			if diff := cmp.Diff(append([][2]int64(nil), list...), pairs(l)); diff != "" {
				t.Fatalf("entries (-want +got):\n%s", diff)
			}
			if int64(len(l.ring)) > limit {
				t.Fatalf("a ring of %d entries for a limit of %d", len(l.ring), limit)
			}
			after := rapid.Int64Range(-1, now+1).Draw(t, "after")
			if got, want := l.firstAfter(after), first(after); got != want {
				t.Fatalf("firstAfter(%d) = %d, want %d", after, got, want)
			}
			i := rapid.IntRange(0, len(list)).Draw(t, "i")
			if got, want := l.unitsFrom(i), sumFrom(i); got != want {
				t.Fatalf("unitsFrom(%d) = %d, want %d", i, got, want)
			}
			if all := sumFrom(0); all > 0 {
				room := rapid.Int64Range(0, all-1).Draw(t, "room")
				i := l.lastAbove(room)
				if sumFrom(i) <= room || sumFrom(i+1) > room {
					t.Fatalf("lastAbove(%d) = %d of %v", room, i, list)
				}
			}
		}
	})
}

func TestLogBytesAreItsMemory(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 8 && unsafe.Sizeof(Log{}) != logHeaderBytes {
		t.Errorf("a Log takes %d bytes, accounted %d", unsafe.Sizeof(Log{}), logHeaderBytes)
	}
	if unsafe.Sizeof(logEntry{}) != logEntryBytes {
		t.Errorf("an entry takes %d bytes, accounted %d", unsafe.Sizeof(logEntry{}), logEntryBytes)
	}
	var none *Log
	if got := none.Bytes(); got != 0 {
		t.Errorf("no log takes %d bytes, want 0", got)
	}
	l := new(Log)
	for i := range int64(100) {
		l.push(i, 1, 100)
	}
	if got, want := l.Bytes(), int64(48+100*16); got != want {
		t.Errorf("a full log of 100 takes %d bytes, want %d: no more entries than its limit", got, want)
	}
}

// TestLogGivesMemoryBack: a burst long ago must not hold its memory for ever,
// and a log in steady use must not move to a new ring all the time.
func TestLogGivesMemoryBack(t *testing.T) {
	const limit = 10_000
	l := new(Log)
	for i := range int64(limit) {
		l.push(i, 1, limit)
	}
	l.trim(limit - 2)
	if got := len(l.ring); got > 4 {
		t.Errorf("one entry in use holds a ring of %d", got)
	}
	if diff := cmp.Diff([][2]int64{{limit - 1, 1}}, pairs(l)); diff != "" {
		t.Errorf("entries after the move (-want +got):\n%s", diff)
	}

	steady := new(Log)
	for now := range int64(1000) {
		steady.trim(now - 100)
		steady.push(now, 1, limit)
	}
	ring := &steady.ring[0]
	for now := int64(1000); now < 5000; now++ {
		steady.trim(now - 100)
		steady.push(now, 1, limit)
	}
	if ring != &steady.ring[0] {
		t.Error("a log in steady use moved to another ring")
	}
}

func TestLogIsRestoredFromWhatItYields(t *testing.T) {
	l, restored := new(Log), new(Log)
	for i := range int64(50) {
		l.push(i*i, i+1, 1<<20)
	}
	l.trim(100)
	for at, units := range l.All() {
		restored.Add(at, units)
	}
	if diff := cmp.Diff(pairs(l), pairs(restored)); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	for range l.All() {
		break // a reader may stop early
	}

	broken := new(Log)
	broken.Add(10, 1)
	broken.Add(5, 2)  // from a bad file: earlier than the last
	broken.Add(20, 0) // and nothing at all
	broken.Add(20, -3)
	if diff := cmp.Diff([][2]int64{{10, 3}}, pairs(broken)); diff != "" {
		t.Errorf("repaired (-want +got):\n%s", diff)
	}
}

// TestLogForgetsWhatNoLongerCounts at each admission, to the nanosecond.
func TestLogForgetsWhatNoLongerCounts(t *testing.T) {
	spec := Spec{Limit: 3, Window: MinWindow, Burst: 3, Algorithm: SlidingLog}
	var b Bucket
	for _, now := range []int64{0, 1, 2, MinWindow, MinWindow + 1} {
		if d, _ := Decide(spec, spec, &b, now, Request{Cost: 1}); d.Allowed != 1 {
			t.Fatalf("denied at %d: %+v", now, d)
		}
	}
	if diff := cmp.Diff([][2]int64{{2, 1}, {MinWindow, 1}, {MinWindow + 1, 1}}, pairs(b.Log)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}
