package state

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/policy"
)

// ask names a bucket at the slot of its own key.
func ask(key string, spec limit.Spec) Ask {
	return Ask{Slot: Slot([]byte(key)), Key: []byte(key), Spec: spec}
}

func strict(a Ask) Ask {
	a.Strict = true
	return a
}

// decideAll decides and fails on an error.
func decideAll(tb rapid.TB, s *Store, req limit.Request, now int64, asks ...Ask) (bool, []limit.Decision) {
	tb.Helper()
	out := make([]limit.Decision, len(asks))
	allowed, err := s.DecideAll(asks, req, now, out)
	if err != nil {
		tb.Fatalf("DecideAll: %v", err)
	}
	return allowed, out
}

// Policies' buckets and RL.ALLOW's keys with the same bytes are two, and what
// speaks of keys speaks of the latter.
func TestSpacesAreApart(t *testing.T) {
	s := newStore(t)
	key := []byte("k")
	mustDecide(t, s, "k", perMinute, take(30), start)
	decideAll(t, s, take(10), start, ask("k", perMinute))
	decideAll(t, s, take(1), start, ask("other", perMinute))
	info, _ := s.Inspect(key, start)
	of, _ := s.InspectPolicy(Slot(key), key, start)
	if info.Remaining != 70 || of.Remaining != 90 {
		t.Errorf("%+v, %+v", info, of)
	}
	if got := s.Stats(); s.Len() != 1 || got.Keys != 1 || got.PolicyKeys != 2 || s.CountInSlot(Slot(key)) != 1 || s.CountInSlot(Slot([]byte("other"))) != 0 {
		t.Errorf("%+v", got)
	}
	var seen []string
	for next := s.Scan(0, 10, start, func(k []byte) { seen = append(seen, string(k)) }); next != 0; {
		next = s.Scan(next, 10, start, func(k []byte) { seen = append(seen, string(k)) })
	}
	s.KeysInSlot(Slot([]byte("other")), 10, start, func(k []byte) { seen = append(seen, string(k)) })
	if !slices.Equal(seen, []string{"k"}) {
		t.Errorf("scanned %q", seen)
	}
	if top := s.Top(TopAsked, 10, start); len(top) != 1 || top[0].Key != "k" {
		t.Errorf("top %+v", top)
	}
	if refunded, remaining, found, err := s.RefundPolicy(Slot(key), key, 4, start); refunded != 4 || remaining != 94 || !found || err != nil {
		t.Error(refunded, remaining, found, err)
	}
	if !s.Reset(key, start) || s.Reset(key, start) {
		t.Error("the key was not reset once")
	}
	mustDecide(t, s, "k", perMinute, take(1), start)
	if n := s.Flush(); n != 1 || s.Stats().PolicyKeys != 2 {
		t.Errorf("flushed %d: %+v", n, s.Stats())
	}
	if !s.ResetPolicy(Slot(key), key, start) || s.Stats().PolicyKeys != 1 {
		t.Error("the policy's bucket was not reset")
	}
	checkStore(t, s)
	s.Sweep(start+1000*second, Slots)
	if got := s.Stats(); got.PolicyKeys != 0 || got.MemoryBytes != 0 {
		t.Errorf("after a sweep: %+v", got)
	}
	checkStore(t, s)
}

// One denial, and none is charged; what would allow answers as a probe.
func TestAllOrNothing(t *testing.T) {
	s := newStore(t)
	small, large := ask("small", limit.Spec{Limit: 2, Window: 60 * second, Burst: 2}), ask("large", perMinute)
	for i := range 2 {
		if allowed, out := decideAll(t, s, take(1), start, small, large); !allowed || out[0].Remaining != int64(1-i) || out[1].Remaining != int64(99-i) {
			t.Errorf("%v %+v", allowed, out)
		}
	}
	allowed, out := decideAll(t, s, take(1), start, large, small)
	if allowed || out[0].Allowed != 1 || out[0].Remaining != 97 || out[1].Allowed != 0 || out[1].WaitMS != 30_000 {
		t.Errorf("%v %+v", allowed, out)
	}
	// A denial makes no bucket, nor does a probe.
	decideAll(t, s, take(3), start, large, ask("new", limit.Spec{Limit: 1, Window: second, Burst: 1}))
	decideAll(t, s, limit.Request{Cost: 1, Peek: true}, start, large, ask("new", perMinute))
	decideAll(t, s, take(0), start, large, ask("new", perMinute))
	if got := s.Stats(); got.PolicyKeys != 2 {
		t.Errorf("%+v", got)
	}
	out = make([]limit.Decision, 2)
	if _, err := s.DecideAll([]Ask{large, large}, take(1), start, out); !errors.Is(err, errSameBucket) {
		t.Error(err)
	}
	if _, err := s.DecideAll([]Ask{large, small}, limit.Request{Cost: 1, AtMost: true}, start, out); !errors.Is(err, errAtMost) {
		t.Error(err)
	}
	if _, err := s.DecideAll([]Ask{large, {Slot: Slots, Key: []byte("x"), Spec: perMinute}}, take(1), start, out); err == nil {
		t.Error("a slot beyond the last was asked")
	}
	if allowed, err := s.DecideAll(nil, take(1), start, nil); !allowed || err != nil {
		t.Error(allowed, err)
	}
	if allowed, out := decideAll(t, s, limit.Request{Cost: 1000, AtMost: true}, start, large); !allowed || out[0].Allowed != 98 {
		t.Errorf("%v %+v", allowed, out)
	}
	checkStore(t, s)
}

// However buckets are asked together and changed, they answer as buckets that
// are asked one by one.
func TestDecideAllAgainstModel(t *testing.T) {
	specs := []limit.Spec{
		{Limit: 5, Window: 10 * second, Burst: 8},
		{Limit: 9, Window: 10 * second, Burst: 9, Algorithm: limit.SlidingLog},
		{Limit: 7, Window: 10 * second, Burst: 7, Algorithm: limit.SlidingWindow},
		{Limit: 7, Window: 5 * second, Burst: 7, Algorithm: limit.FixedWindow},
		{Limit: 4, Window: 10 * second, Burst: 6, Algorithm: limit.LeakyBucket},
	}
	type bucket struct {
		spec limit.Spec
		limit.Bucket
	}
	rapid.Check(t, func(t *rapid.T) {
		s, err := New(Config{Hash: testHash, Rand: testRand(1)})
		if err != nil {
			t.Fatal(err)
		}
		model := map[string]*bucket{}
		now := start
		decide := func(a Ask, req limit.Request) limit.Decision {
			b := model[string(a.Key)]
			if b == nil {
				b = &bucket{spec: a.Spec}
			}
			d, changed := limit.Decide(b.spec, a.Spec, &b.Bucket, now, req)
			if changed {
				b.spec = a.Spec
				model[string(a.Key)] = b
			}
			return d
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now += rapid.Int64Range(0, 4).Draw(t, "seconds") * second
			req := limit.Request{Cost: rapid.Int64Range(0, 6).Draw(t, "cost"), Peek: rapid.IntRange(0, 5).Draw(t, "peek") == 0}
			var asks []Ask
			for _, key := range rapid.Permutation([]string{"a", "b", "{a}1", "{a}2", "c"}).Draw(t, "keys")[:rapid.IntRange(1, 5).Draw(t, "asks")] {
				asks = append(asks, ask(key, rapid.SampledFrom(specs).Draw(t, "spec")))
			}
			switch rapid.IntRange(0, 9).Draw(t, "also") {
			case 0:
				s.Sweep(now, Slots)
			case 1:
				key := asks[0].Key
				s.ResetPolicy(asks[0].Slot, key, now)
				delete(model, string(key))
			}
			want, wantAll := make([]limit.Decision, len(asks)), true
			probe := req
			probe.Peek = true
			for i, a := range asks {
				want[i] = decide(a, probe)
				wantAll = wantAll && want[i].Allowed > 0
			}
			if wantAll && !req.Peek {
				for i, a := range asks {
					want[i] = decide(a, req)
				}
			}
			if allowed, out := decideAll(t, s, req, now, asks...); allowed != wantAll || !slices.Equal(out, want) {
				t.Fatalf("%v %+v\nwant %v %+v", allowed, out, wantAll, want)
			}
		}
		checkStore(t, s)
	})
}

// decideHeld decides for a unit, if so while it holds the slots.
func decideHeld(s *Store, hold bool, asks []Ask, out []limit.Decision) (bool, error) {
	if !hold {
		return s.DecideAll(asks, take(1), start, out)
	}
	held := s.Hold([]uint16{asks[0].Slot, asks[1].Slot})
	defer held.Release()
	return held.DecideAll(asks, take(1), start, out)
}

// Two scopes, many callers: the sums of both are equal at the end, and neither
// is above its capacity. Slots are asked in both orders, and held meanwhile.
func TestAllOrNothingUnderConcurrency(t *testing.T) {
	s := newStore(t)
	one := ask("one", limit.Spec{Limit: 500, Window: 366 * day, Burst: 500})
	many := []Ask{ask("m0", perYear), ask("m1", perYear), ask("m2", perYear)}
	var passed atomic.Int64
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			out := make([]limit.Decision, 2)
			for j := range 20 {
				asks := []Ask{one, many[(i+j)%3]}
				if i%2 == 0 {
					slices.Reverse(asks)
				}
				allowed, err := decideHeld(s, i%16 == 0, asks, out)
				if err != nil || allowed != (out[0].Allowed == 1 && out[1].Allowed == 1) {
					t.Error(allowed, err, out)
				}
				if allowed {
					passed.Add(1)
				}
			}
		})
	}
	all.Wait()
	used := func(a Ask) int64 {
		info, _ := s.InspectPolicy(a.Slot, a.Key, start)
		return a.Spec.Burst - info.Remaining
	}
	if passed.Load() != 500 || used(one) != 500 || used(many[0])+used(many[1])+used(many[2]) != 500 {
		t.Errorf("%d passed; %d, and %d %d %d used", passed.Load(), used(one), used(many[0]), used(many[1]), used(many[2]))
	}
	checkStore(t, s)
}

// Who holds a slot may need another that DecideAll wants too: neither waits
// for the other for ever.
func TestDecideAllDoesNotBlockAHolder(t *testing.T) {
	s := newStore(t)
	low, high := ask("low", perMinute), ask("high", perMinute)
	if low.Slot > high.Slot {
		low, high = high, low
	}
	held := s.Hold([]uint16{high.Slot})
	done := make(chan struct{})
	go func() {
		defer close(done)
		decideAll(t, s, take(1), start, low, high)
	}()
	for range 1000 {
		decideAll(t, s, take(0), start, low) // it would wait if the other kept low's lock
	}
	if _, err := held.DecideAll([]Ask{high}, take(1), start, make([]limit.Decision, 1)); err != nil {
		t.Error(err)
	}
	held.Release()
	<-done
	if info, _ := s.InspectPolicy(high.Slot, high.Key, start); info.Remaining != 98 {
		t.Errorf("%+v", info)
	}
}

// A strict bucket with debt is never evicted, a full one is, and a new one that
// finds no room is denied.
func TestStrictBucketsStay(t *testing.T) {
	s := newStore(t, maxMemory(100_000))
	rule := limit.Spec{Limit: 10, Window: 3600 * second, Burst: 10}
	kept := 0
	for i := range 1200 {
		allowed, out := decideAll(t, s, take(1), start, strict(ask(fmt.Sprintf("strict:%d", i), rule)))
		switch {
		case allowed:
			kept++
		case out[0] != limit.Decision{Limit: 10, WaitMS: 100, ResetMS: 100}:
			t.Fatalf("%+v", out)
		}
	}
	if got := s.Stats(); kept == 0 || got.PolicyKeys != int64(kept) || got.EvictedNotFull != 0 || got.MemoryBytes > 100_000 {
		t.Fatalf("%d kept, %+v", kept, got)
	}
	// Together with another bucket likewise, and nothing is charged.
	first := strict(ask("strict:0", rule))
	if allowed, out := decideAll(t, s, take(1), start, first, strict(ask("strict:new", rule))); allowed || out[0].Remaining != 8 || out[1].WaitMS != 100 {
		t.Errorf("%v %+v", allowed, out)
	}
	// Nobody else gets their room.
	if _, err := s.Decide([]byte("k"), rule, take(1), start); !errors.Is(err, ErrNoRoom) {
		t.Error(err)
	}
	if _, err := s.DecideAll([]Ask{ask("new", rule)}, take(1), start, make([]limit.Decision, 1)); !errors.Is(err, ErrNoRoom) {
		t.Error(err)
	}
	if info, _ := s.InspectPolicy(first.Slot, first.Key, start); info.Remaining != 9 {
		t.Errorf("%+v", info)
	}
	checkStore(t, s)
	// Once they are full they go.
	later := start + 2*3600*second
	mustDecide(t, s, "k", rule, take(1), later)
	decideAll(t, s, take(1), later, strict(ask("strict:new", rule)), ask("new", rule))
	checkStore(t, s)
}

// After a loss a strict bucket has full debt at that instant, whether it is
// there or not; others start from what there is.
func TestLoss(t *testing.T) {
	for a := range limit.AlgorithmCount {
		rule := limit.Spec{Limit: 10, Window: 100 * second, Burst: 10, Algorithm: limit.Algorithm(a)}
		s := newStore(t)
		known, unknown, keep := strict(ask("{x}known", rule)), strict(ask("{x}unknown", rule)), ask("{x}keep", rule)
		decideAll(t, s, take(1), start, known)
		decideAll(t, s, take(1), start, keep)
		s.Lose(known.Slot, start+5*second)
		s.Lose(known.Slot, start+4*second) // an earlier one changes nothing
		if got := s.LossAt(known.Slot); got != start+5*second {
			t.Errorf("lost at %d", got-start)
		}
		checkStore(t, s)
		now := start + 5*second
		for _, b := range []Ask{known, unknown} {
			if allowed, out := decideAll(t, s, take(1), now, b); allowed {
				t.Errorf("%s: %s was admitted after a loss: %+v", rule.Algorithm, b.Key, out)
			}
		}
		if allowed, out := decideAll(t, s, take(1), now, keep, unknown); allowed || out[0].Allowed != 1 {
			t.Errorf("%s: %v %+v", rule.Algorithm, allowed, out)
		}
		if allowed, _ := decideAll(t, s, take(1), now, keep); !allowed {
			t.Errorf("%s: what is kept was denied", rule.Algorithm)
		}
		if got := s.Stats().PolicyKeys; got != 2 {
			t.Errorf("%s: a denial made a bucket: %d", rule.Algorithm, got)
		}
		// Later it is full again: never more than the capacity in the time since.
		later := start + 500*second
		for _, b := range []Ask{known, unknown} {
			if allowed, _ := decideAll(t, s, take(10), later, b); !allowed {
				t.Errorf("%s: %s is still spent", rule.Algorithm, b.Key)
			}
		}
		s.Lose(known.Slot, 0)
		if s.LossAt(known.Slot) != 0 {
			t.Error("the loss is not forgotten")
		}
		checkStore(t, s)
	}
}

// scopesOf asks a bucket in each of n scopes, that refills within a second. Each
// has a slot of its own, so that as many are locked.
func scopesOf(n int) []Ask {
	asks := make([]Ask, n)
	for i := range asks {
		asks[i] = ask(fmt.Sprintf("k%d", i), limit.Spec{Limit: 1000, Window: second, Burst: 1000})
	}
	return asks
}

// As many scopes as there may be need no memory, nor do they when one denies.
func TestDecideAllDoesNotAllocate(t *testing.T) {
	for n := 1; n <= policy.MaxScopes; n++ {
		s, asks, out := newStore(t), scopesOf(n), make([]limit.Decision, n)
		now := start
		for _, cost := range []int64{1, 1001} {
			if got := testing.AllocsPerRun(100, func() {
				now += second
				if allowed, err := s.DecideAll(asks, take(cost), now, out); allowed != (cost == 1) || err != nil {
					t.Fatal(allowed, err)
				}
			}); got != 0 {
				t.Errorf("%d buckets, cost %d: %v allocations", n, cost, got)
			}
		}
	}
}
