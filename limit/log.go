package limit

import (
	"iter"
	"sort"
)

// Log is the state of a sliding-log: a ring of entries, the oldest first. A
// nil Log is an empty one.
//
// An entry has the sum of all units up to and including its own, so that how
// many units an entry and all after it hold is one subtraction, and every
// question is a binary search. Sums wrap; only differences count.
type Log struct {
	ring []logEntry
	head int   // index of the oldest entry
	n    int   // entries in use
	base int64 // sum before the oldest entry
}

type logEntry struct {
	at  int64 // Unix nanoseconds; never falls
	sum int64
}

// Sizes in bytes, for accounting; a test compares them with the types.
const (
	logHeaderBytes = 48
	logEntryBytes  = 16
)

// minRing is the smallest ring, in entries.
const minRing = 4

// Bytes is the memory that the log holds.
func (l *Log) Bytes() int64 {
	if l == nil {
		return 0
	}
	return logHeaderBytes + int64(len(l.ring))*logEntryBytes
}

// BytesAfter is the memory that the log will hold once units are admitted at
// now under spec, a sliding-log: what Bytes then says, without doing it.
func (l *Log) BytesAfter(spec Spec, now int64) int64 {
	if l == nil {
		return logHeaderBytes + int64(grownRing(0, spec.Limit))*logEntryBytes
	}
	at := max(now, l.last(now))
	gone := l.firstAfter(at - spec.Window)
	n, ring := l.n-gone, len(l.ring)
	if gone > 0 {
		ring = trimmedRing(n, ring)
	}
	if same := n > 0 && l.last(at) == at; !same && n == ring {
		ring = grownRing(n, spec.Limit)
	}
	return logHeaderBytes + int64(ring)*logEntryBytes
}

// All yields each instant, in Unix nanoseconds, and the units admitted at it,
// the oldest first. Entries that no longer count may be among them.
func (l *Log) All() iter.Seq2[int64, int64] {
	return func(yield func(at, units int64) bool) {
		for i := range l.len() {
			before := l.sumBefore(i)
			if e := l.entry(i); !yield(e.at, e.sum-before) {
				return
			}
		}
	}
}

// Add appends an entry of what All yields; for restoring a log. Units of 0 or
// less are left out; an instant before the last entry's is taken as that.
func (l *Log) Add(at, units int64) {
	if units > 0 {
		l.push(max(at, l.last(at)), units, MaxUnits)
	}
}

func (l *Log) len() int {
	if l == nil {
		return 0
	}
	return l.n
}

func (l *Log) empty() bool { return l.len() == 0 }

// entry is the i-th oldest, 0 <= i < len.
func (l *Log) entry(i int) *logEntry {
	i += l.head
	if i >= len(l.ring) {
		i -= len(l.ring)
	}
	return &l.ring[i]
}

func (l *Log) at(i int) int64 { return l.entry(i).at }

// last is the instant of the newest entry, or none where there is no entry.
func (l *Log) last(none int64) int64 {
	if l.empty() {
		return none
	}
	return l.at(l.n - 1)
}

func (l *Log) sumBefore(i int) int64 {
	if i == 0 {
		return l.base
	}
	return l.entry(i - 1).sum
}

// firstAfter is the index of the first entry later than t, len if none is.
func (l *Log) firstAfter(t int64) int {
	return sort.Search(l.len(), func(i int) bool { return l.at(i) > t })
}

// unitsFrom is the units of entry i and all after it; 0 for i == len.
func (l *Log) unitsFrom(i int) int64 {
	if i == l.len() {
		return 0
	}
	return l.entry(l.n-1).sum - l.sumBefore(i)
}

// lastAbove is the newest entry i with unitsFrom(i) > room: when it no longer
// counts, room or less do. The log holds more than room.
func (l *Log) lastAbove(room int64) int {
	return sort.Search(l.n, func(i int) bool { return l.unitsFrom(i) <= room }) - 1
}

// trim forgets the entries up to and including t.
func (l *Log) trim(t int64) {
	gone := l.firstAfter(t)
	if gone == 0 {
		return
	}
	l.base = l.entry(gone - 1).sum
	l.n -= gone
	l.head += gone
	if l.head >= len(l.ring) {
		l.head -= len(l.ring)
	}
	if ring := trimmedRing(l.n, len(l.ring)); ring < len(l.ring) {
		l.resize(ring)
	}
}

// trimmedRing is the size of a ring that n entries are left in. One that is
// mostly empty shrinks: a burst does not hold its memory for ever.
func trimmedRing(n, ring int) int {
	if ring > minRing && n < ring/4 {
		return max(2*n, minRing)
	}
	return ring
}

// grownRing is the size of a ring that n entries fill and that needs more.
func grownRing(n int, limit int64) int {
	return int(min(int64(max(2*n, minRing)), max(limit, int64(n)+1)))
}

// push appends units at an instant not before the last entry's; the same
// instant is one entry. The ring grows geometrically, to at most limit
// entries: with an entry a unit, no more are ever in use.
func (l *Log) push(at, units, limit int64) {
	if !l.empty() && l.last(at) == at {
		l.entry(l.n - 1).sum += units
		return
	}
	if l.n == len(l.ring) {
		l.resize(grownRing(l.n, limit))
	}
	sum := l.sumBefore(l.n) + units
	l.n++
	*l.entry(l.n - 1) = logEntry{at: at, sum: sum}
}

// drop forgets the newest n units; the log holds at least so many.
func (l *Log) drop(n int64) {
	for n > 0 {
		newest := l.entry(l.n - 1)
		units := newest.sum - l.sumBefore(l.n-1)
		if units > n {
			newest.sum -= n
			return
		}
		n -= units
		l.n--
	}
}

// resize moves the entries to a ring of that many.
func (l *Log) resize(entries int) {
	ring := make([]logEntry, entries)
	for i := range l.n {
		ring[i] = *l.entry(i)
	}
	l.ring, l.head = ring, 0
}
