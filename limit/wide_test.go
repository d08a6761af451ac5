package limit

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func (x wide) big() *big.Int {
	n := new(big.Int).SetUint64(x.hi)
	return n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(x.lo))
}

// saturated is n as an int64, or the largest one.
func saturated(n *big.Int) int64 {
	if !n.IsInt64() {
		return math.MaxInt64
	}
	return n.Int64()
}

func genInt64(from int64) *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Int64Range(from, from+3),
		rapid.Int64Range(from, math.MaxInt64),
		rapid.Custom(func(t *rapid.T) int64 { // any magnitude
			return max(from, rapid.Int64Range(0, math.MaxInt64).Draw(t, "n")>>rapid.IntRange(0, 62).Draw(t, "shift"))
		}),
		rapid.Just(int64(math.MaxInt64)),
	)
}

func genWide() *rapid.Generator[wide] {
	return rapid.Custom(func(t *rapid.T) wide {
		x := product(genInt64(0).Draw(t, "x"), genInt64(0).Draw(t, "y"))
		if rapid.Bool().Draw(t, "large") {
			x = wide{hi: rapid.Uint64Range(0, math.MaxUint64>>2).Draw(t, "hi"), lo: rapid.Uint64().Draw(t, "lo")}
		}
		return x
	})
}

func TestWideAgreesWithBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genInt64(0).Draw(t, "a"), genInt64(0).Draw(t, "b")
		x, y := genWide().Draw(t, "x"), genWide().Draw(t, "y")
		d := genInt64(1).Draw(t, "d")

		same := func(op string, got wide, want *big.Int) {
			if got.big().Cmp(want) != 0 {
				t.Fatalf("%s = %v, want %v", op, got.big(), want)
			}
		}
		same("product", product(a, b), new(big.Int).Mul(big.NewInt(a), big.NewInt(b)))
		same("plus", x.plus(y), new(big.Int).Add(x.big(), y.big()))
		same("plus64", x.plus64(a), new(big.Int).Add(x.big(), big.NewInt(a)))

		difference := new(big.Int).Sub(x.big(), y.big())
		if difference.Sign() < 0 {
			difference.SetInt64(0)
		}
		same("minus", x.minus(y), difference)

		if got, want := x.atMost(y), x.big().Cmp(y.big()) <= 0; got != want {
			t.Fatalf("atMost = %v, want %v", got, want)
		}

		wantQuo, wantRem := new(big.Int).QuoRem(x.big(), big.NewInt(d), new(big.Int))
		if !wantQuo.IsInt64() {
			wantRem.SetInt64(0)
		}
		quo, rem := x.quoRem(d)
		if quo != saturated(wantQuo) || rem != wantRem.Int64() {
			t.Fatalf("%v.quoRem(%d) = %d, %d, want %v, %v", x.big(), d, quo, rem, wantQuo, wantRem)
		}
		if wantRem.Sign() > 0 {
			wantQuo.Add(wantQuo, big.NewInt(1))
		}
		if got := x.ceilQuo(d); got != saturated(wantQuo) {
			t.Fatalf("%v.ceilQuo(%d) = %d, want %v", x.big(), d, got, wantQuo)
		}
	})
}

func TestAddSatSaturates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := rapid.Int64().Draw(t, "x"), genInt64(0).Draw(t, "y")
		want := saturated(new(big.Int).Add(big.NewInt(x), big.NewInt(y)))
		if got := addSat(x, y); got != want {
			t.Fatalf("addSat(%d, %d) = %d, want %d", x, y, got, want)
		}
	})
}

func TestToMSRoundsUp(t *testing.T) {
	for _, c := range []struct{ ns, ms int64 }{
		{0, 0},
		{1, 1},
		{999_999, 1},
		{1_000_000, 1},
		{1_000_001, 2},
		{math.MaxInt64, math.MaxInt64/1_000_000 + 1},
	} {
		if got := toMS(c.ns); got != c.ms {
			t.Errorf("toMS(%d) = %d, want %d", c.ns, got, c.ms)
		}
	}
}
