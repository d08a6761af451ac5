package limit

import (
	"math"
	"strconv"
)

// spans are the units of a window's text, the largest first.
func spans() [5]span {
	return [...]span{
		{"d", 24 * 3600 * 1_000_000_000},
		{"h", 3600 * 1_000_000_000},
		{"m", 60 * 1_000_000_000},
		{"s", 1_000_000_000},
		{"ms", 1_000_000},
	}
}

// span is a unit of time.
type span struct {
	unit string
	ns   int64
}

// ParseWindow reads a span as clients write it, 1500ms, 1s, 5m, 1h, 1d, or a
// bare number of seconds, and returns nanoseconds. It is false if the text is
// no span, or one that does not fit 64 bits. It does not say whether the span
// is within MinWindow..MaxWindow.
func ParseWindow(text []byte) (int64, bool) {
	n, i := int64(0), 0
	for ; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
		digit := int64(text[i] - '0')
		if n > (math.MaxInt64-digit)/10 {
			return 0, false
		}
		n = n*10 + digit
	}
	if i == 0 || text[0] == '0' && i > 1 {
		return 0, false
	}
	unit := string(text[i:]) // short, so that it stays on the stack
	if unit == "" {
		unit = "s"
	}
	for _, span := range spans() {
		if span.unit == unit {
			return n * span.ns, n <= math.MaxInt64/span.ns
		}
	}
	return 0, false
}

// FormatWindow is the shortest text that ParseWindow reads as ns nanoseconds,
// which must be whole milliseconds.
func FormatWindow(ns int64) string {
	for _, span := range spans() {
		if ns%span.ns == 0 {
			return strconv.FormatInt(ns/span.ns, 10) + span.unit
		}
	}
	return strconv.FormatInt(ns, 10) + "ns"
}
