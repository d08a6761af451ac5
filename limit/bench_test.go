package limit_test

import (
	"testing"

	"github.com/rlserver/rlserver/limit"
)

// measured is one kind of decision on a bucket in steady use, a second apart.
type measured struct {
	name   string
	want   int64 // allowed
	decide func(now int64) limit.Decision
}

func kinds(tb testing.TB, a limit.Algorithm) []measured {
	tb.Helper()
	spec, other := rule(tb, a, 100, minute, 0), rule(tb, a, 100, hour, 0)
	one, peek := limit.Request{Cost: 1}, limit.Request{Cost: 1, Peek: true}
	var used, changing limit.Bucket
	for i := range int64(200) { // a log is warm when it has been in use
		limit.Decide(spec, spec, &used, epoch-200*second+i*second, one)
	}
	spent := limit.Spent(spec, epoch)
	return []measured{
		{"allowed", 1, func(now int64) limit.Decision {
			d, _ := limit.Decide(spec, spec, &used, now, one)
			return d
		}},
		{"denied", 0, func(int64) limit.Decision {
			d, _ := limit.Decide(spec, spec, &spent, epoch, one)
			return d
		}},
		{"looked at", 1, func(now int64) limit.Decision {
			d, _ := limit.Decide(spec, spec, &used, now, limit.Request{})
			return d
		}},
		{"peeked at", 1, func(now int64) limit.Decision {
			d, _ := limit.Decide(spec, spec, &used, now, peek)
			return d
		}},
		{"converted", 1, func(now int64) limit.Decision {
			d, _ := limit.Decide(spec, other, &changing, epoch+(now-epoch)*60, one)
			spec, other = other, spec
			return d
		}},
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, a := range limit.Algorithms() {
		for i, kind := range kinds(b, a) {
			b.Run(a.String()+"/"+kind.name, func(b *testing.B) {
				fresh, now := kinds(b, a)[i], int64(epoch)
				b.ReportAllocs()
				for b.Loop() {
					now += second
					if d := fresh.decide(now); d.Allowed != fresh.want {
						b.Fatalf("got %+v", d)
					}
				}
			})
		}
	}
}

func BenchmarkFullIn(b *testing.B) {
	for _, a := range limit.Algorithms() {
		b.Run(a.String(), func(b *testing.B) {
			spec := rule(b, a, 100, minute, 0)
			spent := limit.Spent(spec, epoch)
			for b.Loop() {
				if limit.FullIn(spec, &spent, epoch) == 0 {
					b.Fatal("full")
				}
			}
		})
	}
}

// TestDecisionsDoNotAllocate, but for a log that is made from something else.
func TestDecisionsDoNotAllocate(t *testing.T) {
	for _, a := range limit.Algorithms() {
		for i, kind := range kinds(t, a) {
			if a == limit.SlidingLog && kind.name == "converted" {
				continue
			}
			fresh, now := kinds(t, a)[i], int64(epoch)
			if n := testing.AllocsPerRun(500, func() {
				now += second
				if d := fresh.decide(now); d.Allowed != fresh.want {
					t.Fatalf("%v %s: got %+v", a, kind.name, d)
				}
			}); n != 0 {
				t.Errorf("%v %s: %v allocations", a, kind.name, n)
			}
		}
	}
}

func TestParsingANameDoesNotAllocate(t *testing.T) {
	name := []byte("Sliding-Window")
	if n := testing.AllocsPerRun(100, func() {
		if _, err := limit.ParseAlgorithm(name); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
