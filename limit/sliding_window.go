package limit

// slidingWindow: the count of the current window, plus the previous window's
// weighed by how much of it a window that ends now still covers:
//
//	used = current + previous * (Window - elapsed) / Window
//
// It is continuous in time and falls at most as fast as Limit per Window, so
// in any time T at most Limit + Limit*T/Window units pass.
//
// Windows are aligned to the Unix epoch when the key is new and follow one
// another from there. Bucket: A is the start of the current window, B its
// count, C the previous one's.
var slidingWindow = algorithm{
	name:     "sliding-window",
	windowed: true,
	used:     slidingUsed,
	until:    slidingUntil,
	fullIn:   slidingFullIn,
	take: func(spec Spec, b Bucket, now, n int64) Bucket {
		b = slidingNow(spec, b, now)
		b.B += n
		return b
	},
	give: func(spec Spec, b Bucket, now, n int64) (Bucket, int64) {
		b = slidingNow(spec, b, now)
		n = min(n, b.B)
		b.B -= n
		return b, n
	},
	start: func(spec Spec, now, whole, _, _ int64) Bucket {
		return Bucket{A: aligned(now, spec.Window), B: whole}
	},
}

// slidingNow is b rolled on to the window of now. Where the clock went back
// behind the stored window, that window stays the current one.
func slidingNow(spec Spec, b Bucket, now int64) Bucket {
	passed := now - b.A
	switch {
	case passed >= spec.Window && b.B > 0 && passed-spec.Window < spec.Window:
		return Bucket{A: b.A + spec.Window, C: b.B}
	case passed >= spec.Window || b.B == 0 && b.C == 0:
		return Bucket{A: aligned(now, spec.Window)}
	}
	return b
}

func slidingUsed(spec Spec, b Bucket, now int64) (whole, part int64) {
	b = slidingNow(spec, b, now)
	if b.C == 0 {
		return b.B, 0
	}
	left := spec.Window - max(now-b.A, 0)
	whole, part = product(b.C, left).quoRem(spec.Window)
	return whole + b.B, part
}

// slidingUntil solves used <= room for time. In a window with the counts
// current and previous that holds as soon as at most
// (room-current)*Window/previous of the window is left. If the current count
// alone is above room, it has to become the previous one first.
func slidingUntil(spec Spec, b Bucket, now, room int64) int64 {
	b = slidingNow(spec, b, now)
	end := addSat(b.A-now, spec.Window)
	if b.B > room {
		left, _ := product(room, spec.Window).quoRem(b.B)
		return addSat(end, spec.Window-left)
	}
	left, _ := product(room-b.B, spec.Window).quoRem(b.C)
	return end - left
}

func slidingFullIn(spec Spec, b Bucket, now, n int64) int64 {
	b = slidingNow(spec, b, now)
	end := addSat(b.A-now, spec.Window)
	switch {
	case b.B+n > 0:
		return addSat(end, spec.Window)
	case b.C > 0:
		return end
	}
	return 0
}
