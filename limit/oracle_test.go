package limit_test

import (
	"math"
	"math/big"
	"sort"

	"github.com/rlserver/rlserver/limit"
)

// oracle is the algorithms a second time, as plainly as they can be said: on
// rationals and lists, and with every wait found by trying. It answers for one
// key.
type oracle struct {
	rule limit.Spec // the rule the key is kept under

	fullAt *big.Rat // token-bucket, leaky-bucket: when it is full, in ns

	log []admission // sliding-log

	// The windows: units by the number of the window, counted from the one
	// that starts at phase; newest is the highest number in counts.
	phase, newest int64
	counts        map[int64]int64
}

type admission struct{ at, units int64 }

func newOracle(rule limit.Spec) *oracle {
	return &oracle{rule: rule, fullAt: new(big.Rat), counts: map[int64]int64{}}
}

func (o *oracle) clone() *oracle {
	c := newOracle(o.rule)
	c.fullAt.Set(o.fullAt)
	c.log = append(c.log, o.log...)
	c.phase, c.newest = o.phase, o.newest
	for i, n := range o.counts {
		c.counts[i] = n
	}
	return c
}

func isBucket(a limit.Algorithm) bool { return a == limit.TokenBucket || a == limit.LeakyBucket }

// unitNS is how long the rule takes to earn a unit, in ns.
func unitNS(s limit.Spec) *big.Rat { return big.NewRat(s.Window, s.Limit) }

// used is how many units are in use at now.
func (o *oracle) used(now *big.Int) *big.Rat {
	switch at := new(big.Rat).SetInt(now); o.rule.Algorithm {
	case limit.TokenBucket, limit.LeakyBucket:
		used := new(big.Rat).Sub(o.fullAt, at)
		used.Quo(used, unitNS(o.rule))
		if used.Sign() < 0 {
			return new(big.Rat)
		}
		if capacity := rat(o.rule.Burst); used.Cmp(capacity) > 0 {
			return capacity
		}
		return used

	case limit.SlidingLog:
		sum := int64(0)
		for _, a := range o.log {
			if now.Cmp(plus(big.NewInt(a.at), o.rule.Window)) < 0 {
				sum += a.units
			}
		}
		return rat(sum)

	default:
		window, elapsed := o.window(now)
		if !window.IsInt64() {
			return new(big.Rat)
		}
		i := window.Int64()
		used := rat(o.counts[i])
		if o.rule.Algorithm == limit.SlidingWindow {
			covered := big.NewRat(o.rule.Window-elapsed, o.rule.Window)
			used.Add(used, covered.Mul(covered, rat(o.counts[i-1])))
		}
		return used
	}
}

// window is the number of the window that counts at now, and the time since
// it began: time never runs back behind a window that was counted in.
func (o *oracle) window(now *big.Int) (number *big.Int, elapsed int64) {
	since := new(big.Int).Sub(now, big.NewInt(o.phase))
	if begun := new(big.Int).Mul(big.NewInt(o.newest), big.NewInt(o.rule.Window)); since.Cmp(begun) < 0 {
		since = begun
	}
	number, rest := new(big.Int).DivMod(since, big.NewInt(o.rule.Window), new(big.Int))
	return number, rest.Int64()
}

// free is the whole units of capacity beside what is used.
func (o *oracle) free(capacity, now int64) int64 {
	left := new(big.Rat).Sub(rat(capacity), o.used(big.NewInt(now)))
	return max(floor(left).Int64(), 0)
}

// wait is the first of all waits, in steps of so many ns, after which no more
// than room is used; saturated.
func (o *oracle) wait(now, room, step int64) int64 {
	most := math.MaxInt64 / step
	if step > 1 {
		most++ // rounded up
	}
	at := func(wait int64) *big.Int {
		t := new(big.Int).Mul(big.NewInt(wait), big.NewInt(step))
		return t.Add(t, big.NewInt(now))
	}
	low, high := int64(-1), most // low is too early, high is not, or is the end
	for low+1 < high {
		if middle := low + 1 + (high-low-1)/2; o.used(at(middle)).Cmp(rat(room)) <= 0 {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

const ms = 1_000_000

func (o *oracle) decide(rule limit.Spec, now int64, req limit.Request) limit.Decision {
	d := limit.Decision{Limit: rule.Burst, Remaining: o.free(rule.Burst, now)}

	granted := req.Cost
	if req.AtMost {
		granted = min(req.Cost, d.Remaining)
	}
	if granted > d.Remaining || granted == 0 && req.Cost > 0 { // denied
		room := rule.Burst - req.Cost
		if req.AtMost {
			room = rule.Burst - 1
		}
		d.WaitMS = -1
		if room >= 0 {
			d.WaitMS = o.wait(now, room, ms)
		}
		d.ResetMS = o.wait(now, 0, ms)
		return d
	}

	d.Allowed = 1
	if req.AtMost {
		d.Allowed = granted
	}
	d.Remaining -= granted
	after := o.clone()
	after.change(rule, now)
	if rule.Algorithm == limit.LeakyBucket {
		d.WaitMS = after.turn(now)
	}
	if granted == 0 {
		d.ResetMS = o.wait(now, 0, ms) // a look changes no rule
		return d
	}
	after.take(now, granted)
	d.ResetMS = after.wait(now, 0, ms)
	if !req.Peek {
		*o = *after
	}
	return d
}

// turn is when a queue that is full up to some instant has its next turn.
func (o *oracle) turn(now int64) int64 {
	left := new(big.Rat).Sub(o.fullAt, rat(now))
	if left.Sign() <= 0 {
		return 0
	}
	if !ceil(left).IsInt64() {
		return math.MaxInt64/ms + 1
	}
	return ceil(left.Quo(left, rat(ms))).Int64()
}

// change puts the key under another rule.
func (o *oracle) change(rule limit.Spec, now int64) {
	if rule == o.rule {
		return
	}
	if rule.Algorithm == o.rule.Algorithm && !isBucket(rule.Algorithm) && rule.Window == o.rule.Window {
		o.rule = rule
		return
	}
	used := o.used(big.NewInt(now))
	whole, broken := ceil(used), new(big.Rat)
	if isBucket(rule.Algorithm) && isBucket(o.rule.Algorithm) {
		whole = floor(used)
		broken.Sub(used, new(big.Rat).SetInt(whole))
	}
	*o = *newOracle(rule)
	if used.Sign() == 0 {
		return
	}
	units := whole.Int64()
	switch rule.Algorithm {
	case limit.TokenBucket, limit.LeakyBucket:
		// In units of 1/limit ns, of which a whole unit is window.
		debt := ceil(broken.Mul(broken, rat(rule.Window)))
		debt.Add(debt, whole.Mul(whole, big.NewInt(rule.Window)))
		o.fullAt.SetFrac(debt, big.NewInt(rule.Limit))
		o.fullAt.Add(o.fullAt, rat(now))
	case limit.SlidingLog:
		o.log = []admission{{now, units}}
	default:
		o.phase = now / rule.Window * rule.Window
		o.counts[0] = units
	}
}

func (o *oracle) take(now, n int64) {
	switch o.rule.Algorithm {
	case limit.TokenBucket, limit.LeakyBucket:
		if o.fullAt.Cmp(rat(now)) < 0 {
			o.fullAt.Set(rat(now))
		}
		debt := unitNS(o.rule)
		o.fullAt.Add(o.fullAt, debt.Mul(debt, rat(n)))
	case limit.SlidingLog:
		at := now
		if len(o.log) > 0 {
			at = max(at, o.log[len(o.log)-1].at)
		}
		gone := sort.Search(len(o.log), func(i int) bool { return at < o.log[i].at+o.rule.Window })
		o.log = append(o.log[gone:], admission{at, n})
	default:
		if o.used(big.NewInt(now)).Sign() == 0 { // a new key
			o.phase, o.newest, o.counts = now/o.rule.Window*o.rule.Window, 0, map[int64]int64{}
		}
		number, _ := o.window(big.NewInt(now))
		o.newest = number.Int64()
		o.counts[o.newest] += n
	}
}

// refund gives back up to n units.
func (o *oracle) refund(now, n int64) int64 {
	n = min(n, ceil(o.used(big.NewInt(now))).Int64())
	switch o.rule.Algorithm {
	case limit.TokenBucket:
		credit := unitNS(o.rule)
		o.fullAt.Sub(o.fullAt, credit.Mul(credit, rat(n)))
		if n > 0 && o.fullAt.Cmp(rat(now)) < 0 {
			o.fullAt.Set(rat(now)) // never beyond full
		}
	case limit.SlidingLog:
		for left := n; left > 0; {
			newest := &o.log[len(o.log)-1]
			units := min(left, newest.units)
			left -= units
			if newest.units -= units; newest.units == 0 {
				o.log = o.log[:len(o.log)-1]
			}
		}
	case limit.SlidingWindow, limit.FixedWindow:
		number, _ := o.window(big.NewInt(now))
		n = min(n, o.counts[number.Int64()])
		o.counts[number.Int64()] -= n
	case limit.LeakyBucket:
		return 0 // never asked: the turns are promised
	}
	return n
}

func rat(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func plus(a *big.Int, b int64) *big.Int { return new(big.Int).Add(a, big.NewInt(b)) }

func floor(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) }

func ceil(r *big.Rat) *big.Int {
	n := new(big.Int).Neg(r.Num())
	return n.Neg(n.Div(n, r.Denom()))
}
