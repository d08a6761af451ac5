package limit

import (
	"math"
	"math/bits"
)

// wide is an unsigned 128-bit integer. Products of two of this package's
// numbers need up to 104 bits; nothing here exceeds 127.
type wide struct{ hi, lo uint64 }

// product is x*y, both 0 or more.
func product(x, y int64) wide {
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	return wide{hi, lo}
}

func (x wide) plus(y wide) wide {
	lo, carry := bits.Add64(x.lo, y.lo, 0)
	hi, _ := bits.Add64(x.hi, y.hi, carry)
	return wide{hi, lo}
}

func (x wide) plus64(y int64) wide {
	lo, carry := bits.Add64(x.lo, uint64(y), 0)
	return wide{x.hi + carry, lo}
}

// minus is x-y, or 0 where y is larger.
func (x wide) minus(y wide) wide {
	lo, borrow := bits.Sub64(x.lo, y.lo, 0)
	hi, borrow := bits.Sub64(x.hi, y.hi, borrow)
	if borrow != 0 {
		return wide{}
	}
	return wide{hi, lo}
}

func (x wide) atMost(y wide) bool {
	_, borrow := bits.Sub64(y.lo, x.lo, 0)
	_, borrow = bits.Sub64(y.hi, x.hi, borrow)
	return borrow == 0
}

// quoRem is x divided by y, y > 0. A quotient beyond int64 saturates, with
// the remainder 0.
func (x wide) quoRem(y int64) (quo, rem int64) {
	if x.hi >= uint64(y) {
		return math.MaxInt64, 0
	}
	q, r := bits.Div64(x.hi, x.lo, uint64(y))
	if q > math.MaxInt64 {
		return math.MaxInt64, 0
	}
	return int64(q), int64(r)
}

// ceilQuo is x divided by y, y > 0, rounded up and saturated.
func (x wide) ceilQuo(y int64) int64 {
	quo, rem := x.quoRem(y)
	return roundUp(quo, rem)
}

// roundUp is whole+1 where there is a fraction, saturated.
func roundUp(whole, fraction int64) int64 {
	if fraction > 0 && whole < math.MaxInt64 {
		return whole + 1
	}
	return whole
}

// addSat is x+y, saturated; y is 0 or more.
func addSat(x, y int64) int64 {
	if x > math.MaxInt64-y {
		return math.MaxInt64
	}
	return x + y
}
