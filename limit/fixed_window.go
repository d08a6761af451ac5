package limit

// fixedWindow: Limit units per window. Windows are aligned to the Unix epoch
// and do not overlap, so around a boundary up to twice the limit passes.
//
// Bucket: A is the start of the window, B what was counted in it.
var fixedWindow = algorithm{
	name:     "fixed-window",
	windowed: true,
	used: func(spec Spec, b Bucket, now int64) (whole, part int64) {
		return fixedNow(spec, b, now).B, 0
	},
	until: func(spec Spec, b Bucket, now, _ int64) int64 {
		return fixedEnd(spec, b, now)
	},
	fullIn: func(spec Spec, b Bucket, now, n int64) int64 {
		b = fixedNow(spec, b, now)
		if b.B+n == 0 {
			return 0
		}
		return fixedEnd(spec, b, now)
	},
	take: func(spec Spec, b Bucket, now, n int64) Bucket {
		b = fixedNow(spec, b, now)
		b.B += n
		return b
	},
	give: func(spec Spec, b Bucket, now, n int64) (Bucket, int64) {
		b = fixedNow(spec, b, now)
		n = min(n, b.B)
		b.B -= n
		return b, n
	},
	start: func(spec Spec, now, whole, _, _ int64) Bucket {
		return Bucket{A: aligned(now, spec.Window), B: whole}
	},
}

// fixedNow is b in the window of now, which is a stored window as long as that
// has not ended, and else one aligned to the epoch. Where the clock went back
// behind the stored window, that window stays the current one.
func fixedNow(spec Spec, b Bucket, now int64) Bucket {
	if b.B == 0 || now-b.A >= spec.Window {
		return Bucket{A: aligned(now, spec.Window)}
	}
	return b
}

// fixedEnd is the time from now to the end of the window of b.
func fixedEnd(spec Spec, b Bucket, now int64) int64 {
	return addSat(b.A-now, spec.Window)
}

// aligned is the start of the epoch's window that holds now.
func aligned(now, window int64) int64 { return now - now%window }
