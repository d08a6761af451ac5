package state

import (
	"hash/fnv"
	"runtime"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/limit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	second = int64(1e9)
	day    = 24 * 3600 * second
	start  = 1_800_000_000 * second // when tests begin
)

// perMinute is 100 per 60 s; perYear does not refill within a test.
var (
	perMinute = limit.Spec{Limit: 100, Window: 60 * second, Burst: 100}
	perYear   = limit.Spec{Limit: 1000, Window: 366 * day, Burst: 1000}
)

// take asks for n units.
func take(n int64) limit.Request { return limit.Request{Cost: n} }

// testHash is a good hash that is the same in every run.
func testHash(key []byte) uint64 {
	h := fnv.New64a()
	h.Write(key)
	return mix(h.Sum64())
}

// mix is the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// testRand returns a source of random numbers, for any goroutine, that is the
// same in every run.
func testRand(seed uint64) func() uint64 {
	var state atomic.Uint64
	state.Store(seed)
	return func() uint64 { return mix(state.Add(0x9e3779b97f4a7c15)) }
}

// newStore returns a store of Config{} with what change makes of it.
func newStore(tb testing.TB, change ...func(*Config)) *Store {
	tb.Helper()
	c := Config{Hash: testHash, Rand: testRand(1)}
	for _, f := range change {
		f(&c)
	}
	s, err := New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func maxMemory(n int64) func(*Config) { return func(c *Config) { c.MaxMemory = n } }

// mustDecide decides and fails on an error.
func mustDecide(tb rapid.TB, s *Store, key string, spec limit.Spec, req limit.Request, now int64) limit.Decision {
	tb.Helper()
	d, err := s.Decide([]byte(key), spec, req, now)
	if err != nil {
		tb.Fatalf("Decide(%q): %v", key, err)
	}
	return d
}

// checkStore checks what must hold of a store whenever nobody works on it.
func checkStore(tb rapid.TB, s *Store) {
	tb.Helper()
	var keys, policies, memory int64
	refs := map[limit.Spec]int64{}
	live := map[*entry]bool{}
	for i := range s.slots {
		sl := &s.slots[i]
		inSlot, ofPolicies := int32(0), int32(0)
		sl.tree.Scan(func(h uint64, e *entry) bool {
			for ; e != nil; e = e.next() {
				inSlot++
				memory += e.bytes()
				live[e] = true
				if e.gone() {
					tb.Errorf("slot %d: %q is gone but in the tree", i, e.key)
					continue
				}
				refs[*s.specs.at(e.spec)]++
				at := s.locate([]byte(e.key))
				if e.policy() {
					ofPolicies++
					at = s.locatePolicy(uint16(i), []byte(e.key))
				}
				if at.slot != sl || at.hash != h {
					tb.Errorf("slot %d: %q does not belong here", i, e.key)
				}
				if got := sl.find(&at); got != e {
					tb.Errorf("slot %d: %q is not found", i, e.key)
				}
			}
			return true
		})
		if inSlot != sl.keys || ofPolicies != sl.policies || inSlot > sl.peak {
			tb.Errorf("slot %d: keys = %d, policies = %d, peak = %d, want %d and %d", i, sl.keys, sl.policies, sl.peak, inSlot, ofPolicies)
		}
		keys += int64(inSlot - ofPolicies)
		policies += int64(ofPolicies)
	}
	if s.Len() != keys || s.Stats().PolicyKeys != policies {
		tb.Errorf("Len = %d and %d of policies, want %d and %d", s.Len(), s.Stats().PolicyKeys, keys, policies)
	}
	if len(s.specs.ids) != len(refs) {
		tb.Errorf("%d specs are interned, want %d", len(s.specs.ids), len(refs))
	}
	for spec, id := range s.specs.ids {
		if got := s.specs.record(id).refs.Load(); got != refs[spec] || *s.specs.at(id) != spec {
			tb.Errorf("spec %+v: %d references, want %d", spec, got, refs[spec])
		}
	}
	memory += int64(len(refs)) * specBytes
	if got := s.Stats().MemoryBytes; got != memory {
		tb.Errorf("MemoryBytes = %d, want %d", got, memory)
	}
	lines := s.shortcuts.table.Load().lines
	for i := range lines {
		for way := range lines[i].entries {
			if e := lines[i].entries[way].Load(); e != nil && !live[e] {
				tb.Errorf("a shortcut holds %q, which is gone", e.key)
			}
		}
	}
}

// heap is the heap in use, after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// testKey is the i-th key of 16 bytes, cheap to make.
func testKey(i int) (key [16]byte) {
	copy(key[:], "user:")
	for p := len(key) - 1; p >= 5; p-- {
		key[p] = "0123456789abcdef"[i&15]
		i >>= 4
	}
	return key
}

// quick reports whether tests should be small: the race detector makes them
// ten times as slow.
func quick() bool { return testing.Short() || raceDetector }
