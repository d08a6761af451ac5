package state

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/rlserver/rlserver/limit"
)

const benchKeys = 1_000_000

// benchStore is a store in the state of a server that has run for a while:
// benchKeys keys, each asked for at least twice.
type benchStore struct {
	*Store
	bytes int64 // heap
}

// filled makes the store that the benchmarks share. They only add to what is
// used of its buckets.
var filled = sync.OnceValue(func() benchStore {
	before := heap()
	seed := maphash.MakeSeed()
	s, err := New(Config{
		Hash: func(k []byte) uint64 { return maphash.Bytes(seed, k) },
		Rand: rand.Uint64,
	})
	if err != nil {
		panic(err)
	}
	for range 2 {
		for i := range benchKeys {
			key := testKey(i)
			if _, err := s.Decide(key[:], perMinute, take(1), start); err != nil {
				panic(err)
			}
		}
		s.Sweep(start, Slots)
	}
	return benchStore{s, heap() - before}
})

// uniform is the i-th of a sequence that looks random.
func uniform(i int) int { return int(mix(uint64(i)) % benchKeys) }

// decide asks for the i-th time, at a hundred thousand a second.
func (s benchStore) decide(key []byte, i int) {
	if _, err := s.Decide(key, perMinute, take(1), start+int64(i)*10_000); err != nil {
		panic(err)
	}
}

// BenchmarkDecideUniform1M asks a million keys at random. As memory is slower
// by a third from one minute to the next on shared machines, it is measured in
// turns with what a Go map needs to look up the same keys and to update what they
// point to, without any allocation.
func BenchmarkDecideUniform1M(b *testing.B) {
	s := filled()
	type bucket struct{ a, _ int64 }
	m := make(map[string]*bucket, benchKeys)
	for i := range benchKeys {
		key := testKey(i)
		m[string(key[:])] = new(bucket)
	}
	const turn = 10_000
	var key [16]byte
	var inMap time.Duration
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; done += turn {
		n := min(turn, b.N-done)
		for i := range n {
			key = testKey(uniform(done + i))
			s.decide(key[:], done+i)
		}
		b.StopTimer()
		began := time.Now()
		for i := range n {
			key = testKey(uniform(done + i + b.N))
			m[string(key[:])].a++
		}
		inMap += time.Since(began)
		b.StartTimer()
	}
	b.StopTimer()
	runtime.KeepAlive(m)
	b.ReportMetric(float64(inMap.Nanoseconds())/float64(b.N), "map-ns/op")
	b.ReportMetric(float64(b.Elapsed())/float64(inMap), "x-map")
	b.ReportMetric(float64(s.bytes)/benchKeys, "bytes/key")
}

// BenchmarkGoMapUniform1M is the map alone.
func BenchmarkGoMapUniform1M(b *testing.B) {
	type bucket struct{ a, _ int64 }
	m := make(map[string]*bucket, benchKeys)
	for i := range benchKeys {
		key := testKey(i)
		m[string(key[:])] = new(bucket)
	}
	var key [16]byte
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		key = testKey(uniform(i))
		m[string(key[:])].a++
	}
}

func BenchmarkDecideZipf1M(b *testing.B) {
	s := filled()
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.05, 1, benchKeys-1)
	order := make([]int, 1<<20)
	for i := range order {
		order[i] = uniform(int(zipf.Uint64()))
	}
	var key [16]byte
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		key = testKey(order[i%len(order)])
		s.decide(key[:], i)
	}
}

func BenchmarkDecideOneKey(b *testing.B) {
	s := filled()
	key := testKey(0)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.decide(key[:], i)
	}
}

// BenchmarkDecideAll asks one bucket in each of so many scopes.
func BenchmarkDecideAll(b *testing.B) {
	for _, scopes := range []int{1, 2, 4, 8, 16} {
		b.Run(fmt.Sprint(scopes), func(b *testing.B) {
			s, asks, out := newStore(b), scopesOf(scopes), make([]limit.Decision, scopes)
			now := start
			b.ReportAllocs()
			for b.Loop() {
				now += second
				if allowed, err := s.DecideAll(asks, take(1), now, out); !allowed || err != nil {
					b.Fatal(allowed, err)
				}
			}
		})
	}
}

// BenchmarkDecideNewKeys makes a bucket each time, in a store that is full, so
// that one is evicted for it.
func BenchmarkDecideNewKeys(b *testing.B) {
	s := newStore(b, maxMemory(16<<20))
	i := 0
	for ; s.Stats().EvictedNotFull == 0; i++ {
		key := testKey(i)
		mustDecide(b, s, string(key[:]), perYear, take(1), start)
	}
	var key [16]byte
	b.ReportAllocs()
	for ; b.Loop(); i++ {
		key = testKey(i)
		if _, err := s.Decide(key[:], perYear, take(1), start); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecideParallelUniform1M(b *testing.B) {
	s := filled()
	var seeds testingSeeds
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		var key [16]byte
		for i := seeds.next(); pb.Next(); i++ {
			key = testKey(uniform(i))
			s.decide(key[:], i)
		}
	})
}

func BenchmarkDecideParallelOneKey(b *testing.B) {
	s := filled()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		key := testKey(0)
		for i := 0; pb.Next(); i++ {
			s.decide(key[:], i)
		}
	})
}

// testingSeeds gives each goroutine of a benchmark another place to begin.
type testingSeeds struct {
	mu sync.Mutex
	n  int
}

func (s *testingSeeds) next() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n += 100_000_007
	return s.n
}

// BenchmarkSweep1M looks at a million keys that are not idle. The longest call
// for one slot bounds for how long its lock was held.
func BenchmarkSweep1M(b *testing.B) {
	s := filled()
	var longest time.Duration
	keys := 0
	b.ResetTimer()
	for range b.N {
		for range Slots {
			began := b.Elapsed()
			keys += s.Sweep(start, 1).Keys
			longest = max(longest, b.Elapsed()-began)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(keys), "ns/key")
	b.ReportMetric(float64(longest.Microseconds()), "longest-µs")
}

// BenchmarkSweepOneSlot deletes a hundred thousand keys of one tag while one
// of them is asked for: what it waits for is one batch.
func BenchmarkSweepOneSlot(b *testing.B) {
	const keys = 100_000
	var longest time.Duration
	for range b.N {
		b.StopTimer()
		s := newStore(b)
		for i := range keys {
			key := testKey(i)
			mustDecide(b, s, "{tag}"+string(key[:]), perMinute, take(1), start)
		}
		sl := &s.slots[Slot([]byte("{tag}"))]
		var r SweepResult
		b.StartTimer()
		for pos, more := uint64(0), true; more; {
			began := b.Elapsed()
			pos, more = s.deleteBatch(sl, pos, &r, func(*entry) bool { return true })
			longest = max(longest, b.Elapsed()-began)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/keys, "ns/key")
	b.ReportMetric(float64(longest.Microseconds()), "longest-hold-µs")
}

func BenchmarkSlot(b *testing.B) {
	key := testKey(12345)
	for b.Loop() {
		Slot(key[:])
	}
}

// BenchmarkTopOneOff counts keys that come once: the worst for the sketch.
func BenchmarkTopOneOff(b *testing.B) {
	t := newTop(1)
	key := testKey(0)
	b.ReportAllocs()
	for i := uint64(0); b.Loop(); i++ {
		t.count(mix(i), key[:], false, start)
	}
}

func BenchmarkTopOneKey(b *testing.B) {
	t := newTop(1)
	key := testKey(0)
	b.ReportAllocs()
	for b.Loop() {
		t.count(12345, key[:], false, start)
	}
}
