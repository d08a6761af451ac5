package state

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/limit"
)

// model is a store as simple as can be: a map of buckets, no slots, no
// sharing of rules, and no sweep where time only runs forwards, since then a
// sweep must not be noticed.
type model struct {
	keys    map[string]*modelBucket
	forward bool // time only runs forwards
}

type modelBucket struct {
	spec   limit.Spec
	bucket limit.Bucket
	seen   int64
}

func (m *model) decide(key string, spec limit.Spec, req limit.Request, now int64) limit.Decision {
	b := m.keys[key]
	if b == nil {
		b = &modelBucket{spec: spec}
	}
	d, changed := limit.Decide(b.spec, spec, &b.bucket, now, req)
	if changed {
		b.spec, b.seen = spec, now
		m.keys[key] = b
	}
	return d
}

// used returns key's bucket if it is not full.
func (m *model) used(key string, now int64) *modelBucket {
	b := m.keys[key]
	if b == nil || limit.FullIn(b.spec, &b.bucket, now) == 0 {
		return nil
	}
	return b
}

// swept deletes as a sweep of these slots does, which shows only where the
// clock is set back afterwards.
func (m *model) swept(first, slots uint64, idle, now int64) {
	for key, b := range m.keys {
		e := entry{seen: steps(b.seen)}
		inRange := (uint64(Slot([]byte(key)))-first)%Slots < slots
		if inRange && e.idle(now) > idle && m.used(key, now) == nil {
			delete(m.keys, key)
		}
	}
}

func (m *model) names(now int64) map[string]bool {
	names := map[string]bool{}
	for key := range m.keys {
		if m.used(key, now) != nil {
			names[key] = true
		}
	}
	return names
}

// hashes to test with: a good one, one with few values, one with one.
func hashes() []func([]byte) uint64 {
	return []func([]byte) uint64{
		testHash,
		func(k []byte) uint64 { return testHash(k) % 3 },
		func([]byte) uint64 { return 1 << 63 },
	}
}

func modelSpecs() []limit.Spec {
	specs := []limit.Spec{
		{Limit: 5, Window: 10 * second, Burst: 5},
		{Limit: 3, Window: 7 * second, Burst: 9},
		{Limit: 1_000_000, Window: second, Burst: 10},
		{Limit: 2, Window: 30 * day, Burst: 2},
	}
	for _, a := range limit.Algorithms() {
		specs = append(specs,
			limit.Spec{Limit: 6, Window: 20 * second, Burst: 6, Algorithm: a},
			limit.Spec{Limit: 12, Window: 3600 * second, Burst: 12, Algorithm: a})
	}
	return specs
}

// TestModel: whatever is done in whatever order, a store answers as the model.
func TestModel(t *testing.T) {
	specs := modelSpecs()
	rapid.Check(t, func(t *rapid.T) {
		m := &model{keys: map[string]*modelBucket{}, forward: rapid.Bool().Draw(t, "forward")}
		s, err := New(Config{
			Hash: rapid.SampledFrom(hashes()).Draw(t, "hash"),
			Rand: testRand(rapid.Uint64().Draw(t, "seed")),
		})
		if err != nil {
			t.Fatal(err)
		}
		now := start
		same := func(what string, want, got any) {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", what, diff)
			}
		}
		key := func(t *rapid.T) string {
			return fmt.Sprintf("{%d}%d", rapid.IntRange(0, 2).Draw(t, "tag"), rapid.IntRange(0, 5).Draw(t, "key"))
		}
		sweep := func(slots int) {
			first := s.sweepNext.Load()
			s.Sweep(now, slots)
			if !m.forward {
				m.swept(first, uint64(slots), s.sweepIdle.Load(), now)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"decide": func(t *rapid.T) {
				key := key(t)
				spec := rapid.SampledFrom(specs).Draw(t, "spec")
				if b := m.keys[key]; b != nil && rapid.IntRange(0, 3).Draw(t, "same rule") > 0 {
					spec = b.spec
				}
				req := limit.Request{Cost: rapid.Int64Range(0, 7).Draw(t, "cost"), Peek: rapid.IntRange(0, 4).Draw(t, "peek") == 0}
				req.AtMost = req.Cost > 0 && rapid.Bool().Draw(t, "atmost")
				got, err := s.Decide([]byte(key), spec, req, now)
				if err != nil {
					t.Fatal(err)
				}
				same(key, m.decide(key, spec, req, now), got)
			},
			"refund": func(t *rapid.T) {
				key, n := key(t), rapid.Int64Range(0, 7).Draw(t, "n")
				var want, remaining int64
				var wantErr error
				b := m.used(key, now)
				if b != nil {
					want, remaining, wantErr = limit.Refund(b.spec, &b.bucket, now, n)
				}
				if wantErr != nil {
					remaining = 0
				}
				got, left, found, err := s.Refund([]byte(key), n, now)
				same("refund of "+key, []any{want, remaining, b != nil, wantErr != nil}, []any{got, left, found, err != nil})
			},
			"reset": func(t *rapid.T) {
				key := key(t)
				want := m.used(key, now) != nil
				delete(m.keys, key)
				same("reset of "+key, want, s.Reset([]byte(key), now))
			},
			"inspect": func(t *rapid.T) {
				key := key(t)
				info, found := s.Inspect([]byte(key), now)
				ns, ok := s.FullIn([]byte(key), now)
				b := m.used(key, now)
				same("found "+key, []bool{b != nil, b != nil}, []bool{found, ok})
				if b == nil {
					return
				}
				fullIn := limit.FullIn(b.spec, &b.bucket, now)
				same("full in of "+key, fullIn, ns)
				same("spec of "+key, b.spec, info.Spec)
				same("remaining of "+key, limit.Remaining(b.spec, &b.bucket, now), info.Remaining)
				same("reset of "+key, (fullIn+999_999)/1_000_000, info.ResetMS)
			},
			"names": func(t *rapid.T) {
				want := m.names(now)
				got, inSlots := map[string]bool{}, map[string]bool{}
				count := rapid.IntRange(1, 5).Draw(t, "count")
				for cursor, first := uint64(0), true; cursor != 0 || first; first = false {
					cursor = s.Scan(cursor, count, now, func(k []byte) { got[string(k)] = true })
				}
				for _, tag := range []string{"0", "1", "2"} {
					s.KeysInSlot(Slot([]byte(tag)), 100, now, func(k []byte) { inSlots[string(k)] = true })
				}
				same("scan", want, got)
				same("keys in slots", want, inSlots)
			},
			"sweep all":  func(*rapid.T) { sweep(Slots) },
			"sweep some": func(t *rapid.T) { sweep(rapid.IntRange(1, Slots-1).Draw(t, "slots")) },
			"flush": func(t *rapid.T) {
				if rapid.IntRange(0, 4).Draw(t, "really") == 0 {
					s.Flush()
					clear(m.keys)
				}
			},
			"wait": func(t *rapid.T) {
				now += rapid.OneOf(
					rapid.Int64Range(0, second),
					rapid.Int64Range(0, 100*second),
					rapid.Int64Range(0, 100*day),
				).Draw(t, "ns")
			},
			"set back": func(t *rapid.T) {
				if !m.forward {
					now -= rapid.Int64Range(0, 200*second).Draw(t, "ns")
				}
			},
		})
		checkStore(t, s)
	})
}
