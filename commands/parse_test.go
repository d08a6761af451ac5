package commands

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseInt(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "7": 7, "-1": -1, "1000000000000": 1e12,
		"9223372036854775807": math.MaxInt64, "-9223372036854775808": math.MinInt64,
	} {
		if got, ok := parseInt([]byte(text)); !ok || got != want {
			t.Errorf("parseInt(%q) = %d, %v; want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"", "-", "+1", " 1", "1 ", "01", "-0", "00", "1.0", "1e3", "0x1", "1_000", "ten", "١",
		"9223372036854775808", "-9223372036854775809", "99999999999999999999", "18446744073709551617",
	} {
		if got, ok := parseInt([]byte(text)); ok {
			t.Errorf("parseInt(%q) = %d; want it refused", text, got)
		}
	}
}

func TestParseIntAgreesWithStrconv(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?[0-9]{1,21}`).Draw(t, "text")
		want, err := strconv.ParseInt(text, 10, 64)
		canonical := err == nil && strconv.FormatInt(want, 10) == text
		got, ok := parseInt([]byte(text))
		if ok != canonical || ok && got != want {
			t.Fatalf("parseInt(%q) = %d, %v; strconv says %d, %v", text, got, ok, want, err)
		}
	})
}

func newReader(words ...string) *reader {
	r := &reader{maxKey: DefaultMaxKey}
	for _, w := range words {
		r.args = append(r.args, []byte(w))
	}
	return r
}

func TestReaderKeepsTheFirstMistake(t *testing.T) {
	r := newReader("x", "y")
	r.integer("first", 1, 9)
	r.integer("second", 1, 9)
	err := r.end()
	if err == nil || !strings.Contains(err.Error(), `first must be an integer between 1 and 9, got "x"`) {
		t.Fatalf("got %v", err)
	}
}

func TestReaderMistakes(t *testing.T) {
	option := func(r *reader) {
		for r.more() {
			if r.option("ALGO", "COST") != "" {
				r.take("the option")
			}
		}
	}
	for _, test := range []struct {
		words []string
		read  func(*reader)
		want  string
	}{
		{[]string{""}, func(r *reader) { r.key() }, "ERR key must be 1 to 512 bytes, got 0"},
		{[]string{strings.Repeat("k", 513)}, func(r *reader) { r.key() }, "ERR key must be 1 to 512 bytes, got 513"},
		{nil, func(r *reader) { r.units("limit", 1) }, "ERR limit needs a value"},
		{[]string{"0"}, func(r *reader) { r.units("limit", 1) }, `ERR limit must be an integer between 1 and 1000000000000, got "0"`},
		{[]string{"0"}, func(r *reader) { r.window() }, `ERR window must be 1ms to 366d, a whole number and a unit (1500ms, 1s, 5m, 1h, 1d) or of seconds, got "0"`},
		{[]string{"367d"}, func(r *reader) { r.window() }, `ERR window must be 1ms to 366d, a whole number and a unit (1500ms, 1s, 5m, 1h, 1d) or of seconds, got "367d"`},
		{[]string{"algo", "x", "ALGO", "y"}, option, "ERR ALGO is given twice"},
		{[]string{"COST"}, option, "ERR the option needs a value"},
		{[]string{"FOO"}, option, `ERR unknown option "FOO"; allowed are ALGO, COST`},
		{[]string{"\x00\r\n\xff"}, option, `ERR unknown option "\x00\r\n\xff"; allowed are ALGO, COST`},
		{[]string{"rest"}, func(*reader) {}, `ERR unexpected argument "rest"`},
	} {
		r := newReader(test.words...)
		test.read(r)
		if err := r.end(); err == nil || err.Error() != test.want {
			t.Errorf("%q: got %v, want %s", test.words, err, test.want)
		}
	}
}
