package limit

// slidingLog: the exact one. It remembers when each unit of the last Window
// was admitted; a unit admitted at t counts while now < t + Window. At most
// Limit units pass in any window, wherever it starts.
//
// Bucket: only Log.
var slidingLog = algorithm{
	name:     "sliding-log",
	windowed: true,
	used: func(spec Spec, b Bucket, now int64) (whole, part int64) {
		return b.Log.unitsFrom(b.Log.firstAfter(now - spec.Window)), 0
	},
	until: func(spec Spec, b Bucket, now, room int64) int64 {
		l := b.Log
		return addSat(l.at(l.lastAbove(room))-now, spec.Window)
	},
	fullIn: func(spec Spec, b Bucket, now, n int64) int64 {
		last := b.Log.last(now)
		if n > 0 {
			last = max(last, now)
		} else if b.Log.empty() || now-last >= spec.Window {
			return 0
		}
		return addSat(last-now, spec.Window)
	},
	take: func(spec Spec, b Bucket, now, n int64) Bucket {
		if b.Log == nil {
			b.Log = new(Log)
		}
		at := max(now, b.Log.last(now)) // entries never go back in time
		b.Log.trim(at - spec.Window)
		b.Log.push(at, n, spec.Limit)
		return b
	},
	give: func(_ Spec, b Bucket, _, n int64) (Bucket, int64) {
		b.Log.drop(n)
		return b, n
	},
	start: func(spec Spec, now, whole, _, _ int64) Bucket {
		l := new(Log)
		l.push(now, whole, spec.Limit)
		return Bucket{Log: l}
	},
}
