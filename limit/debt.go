package limit

// The arithmetic that token-bucket and leaky-bucket share: the generic cell
// rate algorithm (ITU-T I.371, virtual scheduling), which keeps one instant
// instead of a level and needs no refill.
//
// The instant, A + B/Limit nanoseconds with 0 <= B < Limit, is when the bucket
// will be full. How far away that is, in units of 1/Limit ns, is the debt; a
// unit in use weighs exactly Window of it, whatever the numbers are, so
// nothing is ever rounded in the state.
//
// A may wrap: only its distance from now counts, and that fits int64.

func debt(spec Spec, b Bucket, now int64) wide {
	distance := b.A - now
	if distance < 0 {
		return wide{}
	}
	return product(distance, spec.Limit).plus64(b.B)
}

func withDebt(spec Spec, now int64, debt wide) Bucket {
	ns, fraction := debt.quoRem(spec.Limit)
	return Bucket{A: now + ns, B: fraction}
}

// debtUsed never exceeds the capacity: a clock that went back makes the debt
// larger than that, by what is to be earned until it has caught up.
func debtUsed(spec Spec, b Bucket, now int64) (whole, part int64) {
	whole, part = debt(spec, b, now).quoRem(spec.Window)
	if whole >= spec.Burst {
		return spec.Burst, 0
	}
	return whole, part
}

func debtUntil(spec Spec, b Bucket, now, room int64) int64 {
	return debt(spec, b, now).minus(product(room, spec.Window)).ceilQuo(spec.Limit)
}

func debtFullIn(spec Spec, b Bucket, now, n int64) int64 {
	if n > 0 {
		return debt(spec, b, now).plus(product(n, spec.Window)).ceilQuo(spec.Limit)
	}
	distance := b.A - now
	if distance < 0 {
		return 0
	}
	return roundUp(distance, b.B)
}

func debtTake(spec Spec, b Bucket, now, n int64) Bucket {
	return withDebt(spec, now, debt(spec, b, now).plus(product(n, spec.Window)))
}

func debtGive(spec Spec, b Bucket, now, n int64) (Bucket, int64) {
	return withDebt(spec, now, debt(spec, b, now).minus(product(n, spec.Window))), n
}

// debtStart keeps the fraction of a unit, at the new rule's weight.
func debtStart(spec Spec, now, whole, part, per int64) Bucket {
	fraction := product(part, spec.Window).ceilQuo(per)
	return withDebt(spec, now, product(whole, spec.Window).plus64(fraction))
}
