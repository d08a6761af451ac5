package state

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rlserver/rlserver/limit"
)

const goroutines = 64

// inParallel runs f in many goroutines, each with random numbers of its own,
// while background runs again and again.
func inParallel(f func(g int, r *rand.Rand), background ...func(r *rand.Rand)) {
	var workers, others sync.WaitGroup
	var done atomic.Bool
	for i, b := range background {
		others.Go(func() {
			for r := rand.New(rand.NewPCG(99, uint64(i))); !done.Load(); {
				b(r)
			}
		})
	}
	for g := range goroutines {
		workers.Go(func() { f(g, rand.New(rand.NewPCG(uint64(g), 1))) })
	}
	workers.Wait()
	done.Store(true)
	others.Wait()
}

// TestOneKeyConcurrently: whoever asks, whatever is refunded, no unit of one
// key is lost or gained.
func TestOneKeyConcurrently(t *testing.T) {
	for _, a := range limit.Algorithms() {
		t.Run(a.String(), func(t *testing.T) {
			s := newStore(t)
			spec := limit.Spec{Limit: 1000, Window: 366 * day, Burst: 1000, Algorithm: a}
			key := []byte("k")
			var admitted, refunded atomic.Int64
			inParallel(func(_ int, r *rand.Rand) {
				for range 200 {
					req := limit.Request{Cost: r.Int64N(4), AtMost: true, Peek: r.IntN(8) == 0}
					req.AtMost = req.Cost > 0 && r.IntN(2) == 0
					d, err := s.Decide(key, spec, req, start)
					switch {
					case err != nil:
						t.Error(err)
						return
					case d.Remaining < 0 || d.Remaining > 1000:
						t.Errorf("%+v", d)
						return
					case req.Peek || req.Cost == 0 || d.Allowed == 0:
					case req.AtMost:
						admitted.Add(d.Allowed)
					default:
						admitted.Add(req.Cost)
					}
					if a != limit.LeakyBucket && r.IntN(10) == 0 {
						n, _, _, err := s.Refund(key, 1, start)
						if err != nil {
							t.Error(err)
							return
						}
						refunded.Add(n)
					}
				}
			}, func(*rand.Rand) {
				s.Sweep(start, 1000)
			}, func(r *rand.Rand) {
				s.Inspect(key, start)
				s.FullIn(key, start)
				s.Scan(uint64(r.IntN(Slots))<<posBits, 100, start, func([]byte) {})
				s.Stats()
				s.Top(TopAsked, 10, start)
			})
			used := admitted.Load() - refunded.Load()
			d := mustDecide(t, s, "k", spec, limit.Request{}, start)
			if d.Remaining != 1000-used || used < 990 {
				t.Errorf("%d admitted, %d refunded, %d remain of 1000", admitted.Load(), refunded.Load(), d.Remaining)
			}
			checkStore(t, s)
		})
	}
}

// TestManyKeysConcurrently: each of many keys admits exactly its burst, while
// sweeps run and other keys come, go, and change their rules. All ask at the
// same instant: with a clock that is read in another order than it is used, a
// bucket earns a few nanoseconds less, and the last unit may be missing.
func TestManyKeysConcurrently(t *testing.T) {
	keys := 100_000
	if testing.Short() {
		keys = 10_000
	}
	const burst = 3
	s := newStore(t)
	spec := limit.Spec{Limit: burst, Window: 366 * day, Burst: burst}
	admitted := make([]atomic.Int32, keys)
	each := 6 * keys / goroutines
	inParallel(func(g int, r *rand.Rand) {
		// Each goroutine walks over all keys, from a place of its own.
		for i := range each {
			k := (g*keys/goroutines + i) % keys
			key := testKey(k)
			d, err := s.Decide(key[:], spec, take(1), start)
			if err != nil {
				t.Error(err)
				return
			}
			if d.Allowed == 1 {
				admitted[k].Add(1)
			}
		}
	}, func(*rand.Rand) {
		s.Sweep(start+day/2, 1000)
	}, func(r *rand.Rand) {
		key := fmt.Sprint("other", r.IntN(1000))
		other := limit.Spec{Limit: 1 + r.Int64N(20), Window: second, Burst: 20}
		if _, err := s.Decide([]byte(key), other, take(1), start); err != nil {
			t.Error(err)
		}
		if r.IntN(10) == 0 {
			s.Reset([]byte(key), start)
		}
	})
	wrong := 0
	for k := range admitted {
		if admitted[k].Load() != burst {
			wrong++
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d keys did not admit exactly %d", wrong, keys, burst)
	}
	checkStore(t, s)
}

// TestTwoScopesStayEqual: all ask the same two keys for any number of units, one
// after the other pair. Of both the same is used at the end, and it is what was
// answered. The one with less room alone denies; pairs are small and many, as
// it is at the last unit that one could be charged without the other.
func TestTwoScopesStayEqual(t *testing.T) {
	const pairs, least, most = 300, 10, 14
	for _, a := range limit.Algorithms() {
		s := newStore(t)
		asks := make([][]Ask, pairs)
		taken := make([]atomic.Int64, pairs)
		for i := range asks {
			asks[i] = []Ask{
				ask(fmt.Sprint("client", i), limit.Spec{Limit: least, Window: 366 * day, Burst: least, Algorithm: a}),
				ask(fmt.Sprint("endpoint", i), limit.Spec{Limit: most, Window: 366 * day, Burst: most}),
			}
		}
		inParallel(func(g int, r *rand.Rand) {
			out := make([]limit.Decision, 2)
			for i := range asks {
				both := slices.Clone(asks[i])
				if g%2 == 0 {
					slices.Reverse(both)
				}
				cost := 1 + r.Int64N(3)
				switch allowed, err := s.DecideAll(both, take(cost), start, out); {
				case err != nil:
					t.Error(err)
				case allowed:
					taken[i].Add(cost)
				}
			}
		}, func(*rand.Rand) {
			s.Sweep(start, 1000)
		})
		for i := range asks {
			for _, b := range asks[i] {
				info, _ := s.InspectPolicy(b.Slot, b.Key, start)
				if used := b.Spec.Burst - info.Remaining; used != taken[i].Load() || used > least || used < least-2 {
					t.Fatalf("%s: %d of %s used, %d were admitted", a, used, b.Key, taken[i].Load())
				}
			}
		}
		checkStore(t, s)
	}
}

// TestEvictionConcurrently: the same where memory is full all the time. The
// keys that are watched are evicted last, since a filler is full within
// milliseconds and nine in ten keys are fillers: no sample of 16 is without.
func TestEvictionConcurrently(t *testing.T) {
	const burst = 5
	watched := 3000
	s := newStore(t, maxMemory(room(int64(watched)*10, 2)))
	spec := limit.Spec{Limit: burst, Window: 366 * day, Burst: burst}
	filler := limit.Spec{Limit: 1_000_000, Window: second, Burst: 1_000_000}
	admitted := make([]atomic.Int32, watched)
	var fillers atomic.Int64
	fill := func(r *rand.Rand) {
		key := testKey(watched + int(fillers.Add(1)))
		if _, err := s.Decide(key[:], filler, take(1+r.Int64N(1000)), start); err != nil {
			t.Error(err)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for s.Stats().EvictedNotFull == 0 {
		fill(r)
	}
	inParallel(func(g int, r *rand.Rand) {
		for i := range 2 * burst * watched / goroutines {
			k := (g*watched/goroutines + i) % watched
			key := testKey(k)
			d, err := s.Decide(key[:], spec, take(1), start)
			if err != nil {
				t.Error(err)
				return
			}
			if d.Allowed == 1 {
				admitted[k].Add(1)
			}
			fill(r)
		}
	}, func(*rand.Rand) {
		s.Sweep(start, 500)
	}, func(*rand.Rand) {
		if got := s.Stats(); got.MemoryBytes > got.MaxMemory {
			t.Errorf("%+v", got)
		}
	})
	wrong := 0
	for k := range admitted {
		if admitted[k].Load() != burst {
			wrong++
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d keys did not admit exactly %d", wrong, watched, burst)
	}
	if got := s.Stats(); got.EvictedNotFull < int64(watched) {
		t.Errorf("%+v: this was no test", got)
	}
	checkStore(t, s)
}

// TestEverythingConcurrently runs all methods at once in a store with very
// little room; in the end the books must be right.
func TestEverythingConcurrently(t *testing.T) {
	s := newStore(t, maxMemory(60_000))
	specs := modelSpecs()
	inParallel(func(g int, r *rand.Rand) {
		now := start
		for range 500 {
			now += r.Int64N(second)
			key := fmt.Appendf(nil, "{%d}%d", r.IntN(20), r.IntN(50))
			switch r.IntN(20) {
			case 0:
				s.Reset(key, now)
			case 1:
				if _, _, _, err := s.Refund(key, 1, now); err != nil && !errors.Is(err, limit.ErrRefundLeaky) {
					t.Error(err)
				}
			case 2:
				s.Inspect(key, now)
			case 3:
				s.Scan(r.Uint64N(1<<53), 10, now, func(k []byte) { s.FullIn(k, now) })
			case 4:
				s.KeysInSlot(Slot(key), 10, now, func(k []byte) { s.Reset(k, now) })
			case 5:
				s.Sweep(now, 100)
			default:
				spec := specs[r.IntN(len(specs))]
				if _, err := s.Decide(key, spec, take(r.Int64N(4)), now); err != nil {
					t.Error(err)
					return
				}
			}
		}
	}, func(r *rand.Rand) {
		s.SetMaxMemory(50_000 + r.Int64N(20_000))
		s.Top(TopDenied, 10, start)
		if r.IntN(20) == 0 {
			s.Flush()
		}
	})
	checkStore(t, s)
	s.Flush()
	if got := s.Stats(); got.Keys != 0 || got.MemoryBytes != 0 || got.Specs != 0 {
		t.Errorf("after Flush: %+v", got)
	}
}
