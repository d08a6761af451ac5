package commands

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/rlserver/rlserver/limit"
)

// reader takes the arguments of one command from left to right. The first
// mistake sticks: what is read after it are zeros, and end reports it. It
// does not allocate unless it reports a mistake.
type reader struct {
	args   [][]byte
	next   int
	seen   uint64 // options given so far, a bit each
	last   uint64 // the bit of the option read last
	maxKey int
	err    error
}

func (r *reader) more() bool { return r.err == nil && r.next < len(r.args) }

// end reports the first mistake; words that nobody read are one.
func (r *reader) end() error {
	if r.err == nil && r.next < len(r.args) {
		r.fail("unexpected argument %s", quote(r.args[r.next]))
	}
	return r.err
}

func (r *reader) fail(format string, a ...any) {
	if r.err == nil {
		r.err = errorf(format, a...)
	}
}

// take returns the next word; name is what a person calls it.
func (r *reader) take(name string) []byte {
	if r.err != nil {
		return nil
	}
	if r.next == len(r.args) {
		r.fail("%s needs a value", name)
		return nil
	}
	word := r.args[r.next]
	r.next++
	return word
}

// key reads a key: 1 to maxKey bytes, any bytes.
func (r *reader) key() []byte {
	return r.part("key", 1)
}

// part reads what is a key or becomes part of one: lo to maxKey bytes, any
// bytes.
func (r *reader) part(name string, lo int) []byte {
	word := r.text(name, lo, r.maxKey)
	if len(word) > r.maxKey {
		r.err = overBound{replyError(replyText(r.err)), boundKey}
	}
	return word
}

// integer reads a whole number within lo..hi.
func (r *reader) integer(name string, lo, hi int64) int64 {
	word := r.take(name)
	if r.err != nil {
		return 0
	}
	n, ok := parseInt(word)
	if !ok || n < lo || n > hi {
		r.fail("%s must be an integer between %d and %d, got %s", name, lo, hi, quote(word))
		return 0
	}
	return n
}

// units reads an amount of units within lo..1e12.
func (r *reader) units(name string, lo int64) int64 { return r.integer(name, lo, limit.MaxUnits) }

// isNumber says whether the next word means to be a number, and not an option.
func (r *reader) isNumber() bool {
	if !r.more() || len(r.args[r.next]) == 0 {
		return false
	}
	c := r.args[r.next][0]
	return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.'
}

// window reads a span: a number and ms, s, m, h or d, or whole seconds.
// The result is in nanoseconds.
func (r *reader) window() int64 {
	word := r.take("window")
	if r.err != nil {
		return 0
	}
	ns, ok := limit.ParseWindow(word)
	if !ok || ns < limit.MinWindow || ns > limit.MaxWindow {
		r.fail("window must be 1ms to 366d, a whole number and a unit (1500ms, 1s, 5m, 1h, 1d) or of seconds, got %s", quote(word))
		return 0
	}
	return ns
}

// option reads the next word as one of names, in any case, and returns that
// name. A word that is not among them, or that was given before, is a mistake.
// A command calls it with the same names each time.
func (r *reader) option(names ...string) string {
	word := r.take("an option")
	if r.err != nil {
		return ""
	}
	for i, name := range names {
		if !equalFold(word, name) {
			continue
		}
		if r.seen&(1<<i) != 0 {
			r.fail("%s is given twice", name)
			return ""
		}
		r.last = 1 << i
		r.seen |= r.last
		return name
	}
	r.fail("unknown option %s; allowed are %s", quote(word), strings.Join(names, ", "))
	return ""
}

// again lets the option read last be given once more.
func (r *reader) again() { r.seen &^= r.last }

// text reads a value of lo to hi bytes, any bytes.
func (r *reader) text(name string, lo, hi int) []byte {
	word := r.take(name)
	if r.err == nil && (len(word) < lo || len(word) > hi) {
		r.fail("%s must be %d to %d bytes, got %d", name, lo, hi, len(word))
	}
	return word
}

// spec checks a rule. Errors are *limit.ArgError, or overBound for a log that
// is too large.
func (c *Call) spec(a limit.Algorithm, units, window, burst int64) (limit.Spec, error) {
	spec, err := c.d.cfg.Bounds.Spec(a, units, window, burst)
	if err != nil && a == limit.SlidingLog && names(err, "limit") {
		err = overBound{replyError(replyText(err)), boundLog}
	}
	return spec, err
}

// names says whether err is about an argument.
func names(err error, arg string) bool {
	var bad *limit.ArgError
	return errors.As(err, &bad) && bad.Arg == arg
}

// algorithm reads the name of an algorithm, in any case.
func (r *reader) algorithm() limit.Algorithm {
	word := r.take("ALGO")
	if r.err != nil {
		return 0
	}
	a, err := limit.ParseAlgorithm(word)
	if err != nil {
		r.fail("%s, got %s", err, quote(word))
	}
	return a
}

// equalFold compares ASCII, any case on the left, upper case on the right.
func equalFold(word []byte, upper string) bool {
	if len(word) != len(upper) {
		return false
	}
	for i, c := range word {
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		if c != upper[i] {
			return false
		}
	}
	return true
}

// parseInt reads a decimal as Redis does: no sign but -, no leading zeros, no
// spaces, within 64 bits.
func parseInt(b []byte) (int64, bool) {
	digits := bytes.TrimPrefix(b, []byte{'-'})
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	if digits[0] == '0' && (len(digits) > 1 || len(b) > 1) {
		return 0, false
	}
	var n uint64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0') // 19 digits fit
	}
	if len(digits) != len(b) {
		if n > -math.MinInt64 {
			return 0, false
		}
		return -int64(n), true
	}
	if n > math.MaxInt64 {
		return 0, false
	}
	return int64(n), true
}

// quote shows a client's word in an error: printable, and no longer than a
// person wants to read.
func quote(word []byte) string {
	const most = 64
	if len(word) > most {
		return strconv.QuoteToASCII(string(word[:most])) + "..."
	}
	return strconv.QuoteToASCII(string(word))
}
