package state

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rlserver/rlserver/limit"
)

func TestTopOnAnIdleServer(t *testing.T) {
	s := newStore(t)
	for key, times := range map[string]int{"a": 5, "b": 2, "c": 1, "d": 1} {
		for range times {
			mustDecide(t, s, key, perMinute, take(50), start)
		}
	}
	// Neither a look nor a probe counts.
	mustDecide(t, s, "e", perMinute, limit.Request{}, start)
	mustDecide(t, s, "e", perMinute, limit.Request{Cost: 1, Peek: true}, start)
	for _, tt := range []struct {
		kind TopKind
		n    int
		want []TopKey
	}{
		{TopAsked, 10, []TopKey{{"a", 5}, {"b", 2}, {"c", 1}, {"d", 1}}},
		{TopAsked, 2, []TopKey{{"a", 5}, {"b", 2}}},
		{TopDenied, 10, []TopKey{{"a", 3}}},
		{TopAsked, 0, nil},
		{TopAsked, -1, nil},
		{topKinds, 10, nil},
	} {
		if diff := gocmp.Diff(tt.want, s.Top(tt.kind, tt.n, start)); diff != "" {
			t.Errorf("Top(%d, %d) (-want +got):\n%s", tt.kind, tt.n, diff)
		}
	}
}

// The lists speak of this minute and the last one.
func TestTopForgets(t *testing.T) {
	const minute = topGeneration
	begin := start / minute * minute
	top := newTop(1)
	asked := func(key string, at int64) { top.count(testHash([]byte(key)), []byte(key), false, at) }
	for i, step := range []struct {
		at   int64
		key  string // asked first
		want []TopKey
	}{
		{begin, "a", []TopKey{{"a", 1}}},
		{begin + minute - 1, "a", []TopKey{{"a", 2}}},
		{begin + minute, "a", []TopKey{{"a", 3}}},
		{begin + minute, "b", []TopKey{{"a", 3}, {"b", 1}}},
		{begin + minute - 1, "b", []TopKey{{"a", 3}, {"b", 2}}}, // another core, a moment late
		{begin + 2*minute, "b", []TopKey{{"b", 3}, {"a", 1}}},
		{begin + 4*minute, "c", []TopKey{{"c", 1}}},
		{begin + 5*minute, "", []TopKey{{"c", 1}}},
		{begin + 6*minute, "", nil},
		{begin + 7*minute, "d", []TopKey{{"d", 1}}},
		{begin - 100*minute, "e", []TopKey{{"e", 1}}}, // the clock was set back
	} {
		if step.key != "" {
			asked(step.key, step.at)
		}
		if diff := gocmp.Diff(step.want, top.list(TopAsked, 10, step.at)); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
}

// TestTopFindsTheTrueTop: of a million keys as skewed as real ones are, the
// ten that are asked for most are found, in order, and well counted.
func TestTopFindsTheTrueTop(t *testing.T) {
	requests := 2_000_000
	if quick() {
		requests = 200_000
	}
	top := newTop(1)
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.05, 1, 999_999)
	times := map[string]int64{}
	for range requests {
		key := testKey(int(mix(zipf.Uint64()) >> 32))
		times[string(key[:])]++
		top.count(testHash(key[:]), key[:], false, start)
	}
	want := make([]TopKey, 0, len(times))
	for key, n := range times {
		want = append(want, TopKey{key, n})
	}
	slices.SortFunc(want, func(a, b TopKey) int { return cmp.Compare(b.Count, a.Count) })
	got := top.list(TopAsked, 10, start)
	for i := range got {
		if got[i].Key != want[i].Key || got[i].Count > want[i].Count || got[i].Count < want[i].Count*98/100 {
			t.Errorf("place %d: %+v, want %+v", i+1, got[i], want[i])
		}
	}
}

// TestTopIsBounded: its memory does not depend on how many keys come.
func TestTopIsBounded(t *testing.T) {
	before := heap()
	top := newTop(1)
	base := heap() - before
	const keyLen = 512
	key := []byte(strings.Repeat("k", keyLen))
	for minute := range int64(3) {
		for i := range 100_000 {
			copy(key, fmt.Sprint(minute, i))
			top.count(testHash(key), key, true, start+minute*topGeneration)
		}
	}
	grown := heap() - before - base
	most := int64(topShards * 2 * int(topKinds) * sketchListed * (keyLen + 48))
	if grown > most {
		t.Errorf("it grew by %d bytes, at most %d are right", grown, most)
	}
	if base > 200_000 {
		t.Errorf("it takes %d bytes when empty", base)
	}
	for i := range top.shards {
		for k := range topKinds {
			checkSketch(t, top.shards[i].current[k])
			checkSketch(t, top.shards[i].last[k])
		}
	}
}

func TestTopDoesNotAllocateForListedKeys(t *testing.T) {
	top := newTop(1)
	key := []byte("key")
	h := testHash(key)
	top.count(h, key, true, start)
	if n := testing.AllocsPerRun(100, func() { top.count(h, key, true, start) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
