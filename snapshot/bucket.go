package snapshot

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/rlserver/rlserver/limit"
)

// How the state of a bucket becomes durations and comes back. What comes back
// is checked as strictly as what a stranger sends: the algorithms trust what
// they are given.
//
// A clock that went back leaves buckets that are further from now than their
// rule knows. They are written and read as the fullest debt that the rule
// knows, which admits nothing now and ends after one refill.

var (
	errShort = errors.New("it ends too early")
	errRange = errors.New("a number is out of range")
	errLog   = errors.New("a log is longer than any rule allows")
)

// appendBucket appends b at now, for all algorithms but the log.
func appendBucket(buf []byte, spec limit.Spec, b limit.Bucket, now int64) []byte {
	switch spec.Algorithm {
	case limit.SlidingWindow, limit.FixedWindow:
		b, age := agedWindow(spec, b, now-b.A)
		buf = binary.AppendUvarint(buf, uint64(age))
		buf = binary.AppendUvarint(buf, uint64(b.B))
		if spec.Algorithm == limit.SlidingWindow {
			buf = binary.AppendUvarint(buf, uint64(b.C))
		}
		return buf
	default:
		b, ahead := boundDebt(spec, b, b.A-now)
		buf = binary.AppendUvarint(buf, uint64(ahead))
		return binary.AppendUvarint(buf, uint64(b.B))
	}
}

// bucket reads what appendBucket appended, for a reader whose clock shows now
// where the writer's showed its own.
func (d *decoder) bucket(spec limit.Spec, now int64) (b limit.Bucket) {
	switch spec.Algorithm {
	case limit.SlidingWindow, limit.FixedWindow:
		age := d.below(math.MaxInt64)
		b.B = d.below(limit.MaxUnits)
		if spec.Algorithm == limit.SlidingWindow {
			b.C = d.below(limit.MaxUnits)
		}
		b, age = agedWindow(spec, b, age)
		if b != (limit.Bucket{}) {
			b.A = now - age
		}
	default:
		ahead := d.below(math.MaxInt64)
		b.B = d.below(spec.Limit - 1)
		b, ahead = boundDebt(spec, b, ahead)
		b.A = now + ahead
	}
	return b
}

// boundDebt is the two bucket algorithms' state, of which the instant when it
// is full is ahead by so much, with at least no debt and at most the whole.
func boundDebt(spec limit.Spec, b limit.Bucket, ahead int64) (limit.Bucket, int64) {
	if ahead < 0 {
		return limit.Bucket{}, 0
	}
	if spent := limit.Spent(spec, 0); ahead > spent.A || ahead == spent.A && b.B > spent.B {
		return limit.Bucket{B: spent.B}, spent.A
	}
	return limit.Bucket{B: b.B}, ahead
}

// agedWindow is the two window algorithms' state, whose current window began
// so long ago, without what no longer counts. A window that is still to come
// begins now.
func agedWindow(spec limit.Spec, b limit.Bucket, age int64) (limit.Bucket, int64) {
	windows := int64(1)
	if spec.Algorithm == limit.SlidingWindow {
		windows = 2
	}
	if b.B == 0 && b.C == 0 || age >= windows*spec.Window {
		return limit.Bucket{}, 0
	}
	return limit.Bucket{B: b.B, C: b.C}, max(age, 0)
}

// partEntries is how many entries of a log stand in one record at most, so
// that it fits a section with the longest key: an entry is at most 16 bytes.
const partEntries = 8 << 10

// logEntry is one entry of a log: how long ago, and how many units.
type logEntry struct{ age, units int64 }

// appendLog appends entries, the oldest first: the age of the first, then how
// much later each next one is.
func appendLog(buf []byte, entries []logEntry) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(entries)))
	for i, e := range entries {
		distance := e.age
		if i > 0 {
			distance = entries[i-1].age - e.age
		}
		buf = binary.AppendUvarint(buf, uint64(distance))
		buf = binary.AppendUvarint(buf, uint64(e.units))
	}
	return buf
}

// counting is the entries of a log that still count at now.
func counting(spec limit.Spec, log *limit.Log, now int64) (entries []logEntry) {
	for at, units := range log.All() {
		if age := now - at; age < spec.Window {
			entries = append(entries, logEntry{max(age, 0), units})
		}
	}
	return entries
}

// log reads what appendLog appended and adds it to a log, which has n entries
// and total units already. It returns what it then has.
func (d *decoder) log(spec limit.Spec, log *limit.Log, now int64, n int, total int64) (int, int64) {
	entries := d.count()
	if n += entries; n > maxLog {
		d.fail(errLog)
	}
	for i, age := 0, int64(0); i < entries && d.err == nil; i++ {
		if distance := d.below(spec.Window); i == 0 {
			age = distance
		} else {
			age -= distance
		}
		units := d.below(limit.MaxUnits - total)
		if age < 0 || units == 0 {
			d.fail(errRange)
			break
		}
		total += units
		log.Add(now-age, units)
	}
	return n, total
}
