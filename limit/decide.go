package limit

import "errors"

// ErrRefundLeaky is returned for a refund to a leaky-bucket: the turns behind
// the refunded one are already promised.
var ErrRefundLeaky = errors.New("leaky-bucket cannot refund: later turns are already promised")

// never is the wait of a request that no wait helps.
const never = -1

// Decide answers req by the rule spec, at now, for the bucket b that is kept
// under the rule stored. In the ordinary case stored == spec; for a new key
// stored is spec and *b the zero Bucket.
//
// changed: units were taken. *b then has the new state and is to be kept under
// spec. Otherwise, that is after a denial, a peek or a cost of 0, *b and its
// Log are untouched and the rule stored stays in force.
//
// Where the rules differ, what was used by the stored rule stays used, and the
// request is admitted if that leaves room for it in spec's capacity.
func Decide(stored, spec Spec, b *Bucket, now int64, req Request) (d Decision, changed bool) {
	old, rule := &algorithms[stored.Algorithm], &algorithms[spec.Algorithm]
	whole, part := old.used(stored, *b, now)
	free := unused(spec, whole, part)
	d = Decision{Limit: spec.Burst, Remaining: free}

	granted := req.Cost
	if granted > free {
		granted = 0
		if req.AtMost {
			granted = free
		}
	}
	if granted == 0 {
		d.ResetMS = toMS(old.fullIn(stored, *b, now, 0))
		switch {
		case req.Cost == 0:
			d.Allowed = 1
			if rule.queue {
				d.WaitMS = toMS(rule.fullIn(spec, converted(stored, spec, *b, now), now, 0))
			}
		case req.AtMost:
			d.WaitMS = toMS(old.until(stored, *b, now, spec.Burst-1))
		case req.Cost > spec.Burst:
			d.WaitMS = never
		default:
			d.WaitMS = toMS(old.until(stored, *b, now, spec.Burst-req.Cost))
		}
		return d, false
	}

	d.Allowed = 1
	if req.AtMost {
		d.Allowed = granted
	}
	d.Remaining = free - granted
	next := converted(stored, spec, *b, now)
	if rule.queue {
		d.WaitMS = toMS(rule.fullIn(spec, next, now, 0))
	}
	if req.Peek {
		d.ResetMS = toMS(rule.fullIn(spec, next, now, granted))
		return d, false
	}
	*b = rule.take(spec, next, now, granted)
	d.ResetMS = toMS(rule.fullIn(spec, *b, now, 0))
	return d, true
}

// converted is b under another rule: used as much, never less. A log or
// window stays as it is if only the limit changed, the two buckets keep a
// unit's fraction, and between all others whole units are carried over.
func converted(stored, spec Spec, b Bucket, now int64) Bucket {
	if stored == spec {
		return b
	}
	old, rule := &algorithms[stored.Algorithm], &algorithms[spec.Algorithm]
	if rule.windowed && spec.Algorithm == stored.Algorithm && spec.Window == stored.Window {
		return b
	}
	whole, part := old.used(stored, b, now)
	if old.windowed || rule.windowed {
		whole, part = roundUp(whole, part), 0
	}
	return rule.start(spec, now, whole, part, stored.Window)
}

// Refund gives back up to n units, never more than are used (a broken unit
// counts as one), and says how many. A sliding-log forgets its newest units
// first; the window algorithms only give back units of the current window. A
// full bucket, and n of 0 or less, give back 0 and change nothing. For a
// leaky-bucket it returns ErrRefundLeaky.
func Refund(spec Spec, b *Bucket, now, n int64) (refunded, remaining int64, err error) {
	rule := &algorithms[spec.Algorithm]
	if rule.give == nil {
		return 0, Remaining(spec, b, now), ErrRefundLeaky
	}
	if n = min(n, roundUp(rule.used(spec, *b, now))); n > 0 {
		if next, given := rule.give(spec, *b, now, n); given > 0 {
			*b, refunded = next, given
		}
	}
	return refunded, Remaining(spec, b, now), nil
}

// Remaining is how many whole units could pass now.
func Remaining(spec Spec, b *Bucket, now int64) int64 {
	whole, part := algorithms[spec.Algorithm].used(spec, *b, now)
	return unused(spec, whole, part)
}

// FullIn is in how many nanoseconds the bucket is as new, rounded up and
// saturated; 0: it is. Deleting it then has no effect on any decision.
func FullIn(spec Spec, b *Bucket, now int64) int64 {
	return algorithms[spec.Algorithm].fullIn(spec, *b, now, 0)
}

// Spent is the bucket of a key whose whole capacity was taken at now.
func Spent(spec Spec, now int64) Bucket {
	return algorithms[spec.Algorithm].start(spec, now, spec.Burst, 0, spec.Window)
}

// unused is the whole units of spec's capacity beside what is used.
func unused(spec Spec, whole, part int64) int64 {
	free := spec.Burst - whole
	if part > 0 {
		free--
	}
	return max(free, 0)
}

// toMS rounds nanoseconds up to milliseconds.
func toMS(ns int64) int64 { return roundUp(ns/1_000_000, ns%1_000_000) }
