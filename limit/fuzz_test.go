package limit_test

import (
	"testing"

	"github.com/rlserver/rlserver/limit"
)

// tape reads a fuzzer's bytes; past their end it reads zeros.
type tape struct{ data []byte }

func (r *tape) next() int64 {
	if len(r.data) == 0 {
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return int64(b)
}

// size is a number of any magnitude: the upper half of a byte is how many bits
// are in front of the lower half.
func (r *tape) size() int64 {
	b := r.next()
	return (b&15 + 1) << (b >> 4 * 3)
}

func (r *tape) rule() limit.Spec {
	a := limit.Algorithm(r.next() % limit.AlgorithmCount)
	units := min(r.size(), limit.MaxUnits)
	window := min(max(r.size(), limit.MinWindow)+r.next(), limit.MaxWindow)
	burst := min(r.size(), limit.MaxUnits)
	if !isBucket(a) {
		burst = 0
	}
	spec, err := limit.DefaultBounds().Spec(a, units, window, burst)
	if err != nil { // too long to fill, or too large for a log
		spec, err = limit.DefaultBounds().Spec(a, min(units, 1000), window, 0)
	}
	if err != nil {
		panic(err) // both are in bounds: the check itself is wrong
	}
	return spec
}

// FuzzDecide reads two rules and then requests, four bytes each, and compares
// every answer with the oracle's.
func FuzzDecide(f *testing.F) {
	for a := range byte(limit.AlgorithmCount) {
		f.Add([]byte{
			a, 0x09, 0x99, 0, 0x09, (a + 1) % limit.AlgorithmCount, 0x04, 0x9f, 1, 0x0a,
			0, 0x00, 0x00, 0x04, 0, 0x70, 0x00, 0x05, 1, 0x83, 0x01, 0x00, 2, 0x90, 0x00, 0x09, 0x11, 0x72, 0, 0, 8, 0x90, 0, 0x02,
		})
		f.Add([]byte{
			a, 0xdf, 0xff, 7, 0xdf, a, 0xd1, 0x70, 0, 0xf0,
			0, 0x00, 0x00, 0xdf, 1, 0xf0, 0x00, 0xb0, 4, 0xe0, 0x01, 0x30, 1, 0xf1, 0x00, 0xd9,
		})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &tape{data: data}
		rules := [2]limit.Spec{r.rule(), r.rule()}
		clock := newClock(epoch)
		k, o := &key{tb: t}, newOracle(rules[0])
		for i := 0; len(r.data) > 0 && i < 100; i++ {
			flags, step, nudge, cost := r.next(), r.size(), r.next(), r.size()
			if flags&16 != 0 {
				step = -step
			}
			clock.now = min(max(clock.now+step+nudge, clock.first), clock.last)
			now, spec := clock.now, rules[flags&1]
			if !k.used {
				o = newOracle(spec)
			}
			if flags&8 != 0 && k.used && k.stored.Algorithm != limit.LeakyBucket {
				n, left := k.refund(now, cost)
				if want := o.refund(now, cost); n != want || left != o.free(o.rule.Burst, now) {
					t.Fatalf("refund of %d under %+v at %d: got %d, %d, want %d, %d", cost, k.stored, now, n, left, want, o.free(o.rule.Burst, now))
				}
				continue
			}
			req := limit.Request{Cost: min(cost-1, limit.MaxUnits), Peek: flags&2 != 0}
			req.AtMost = flags&4 != 0 && req.Cost > 0
			stored := k.stored
			if got, want := k.decide(spec, now, req), o.decide(spec, now, req); got != want {
				t.Fatalf("%+v of %+v, kept under %+v, at %d: got %+v, want %+v", req, spec, stored, now, got, want)
			}
		}
	})
}
