package admin

import (
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestReadable(t *testing.T) {
	for _, test := range []struct{ key, want string }{
		{"user:42", "user:42"},
		{"{tag}:a|b:c", "{tag}:a|b:c"},
		{"a b", "a b"},
		{"line\nbreak\r\t", `line\nbreak\r\t`},
		{"\x00\x01\x1f\x7f", `\x00\x01\x1f\x7f`},
		{`C:\n`, `C:\\n`},
		{`"quoted" 'too'`, `"quoted" 'too'`},
		{"ключ 键 é", "ключ 键 é"},
		{"\u202etxt.exe", `\u202etxt.exe`},
		{"zero\u200bwidth\ufeff", `zero\u200bwidth\ufeff`},
		{"no\u00a0break", `no\u00a0break`},
		{"\xffé\xc3", `\xffé\xc3`},
		{"\U0001f600\U000e0001", `😀\U000e0001`},
		{"\ufffd", "\ufffd"},
		{"\u0085\u2028", `\u0085\u2028`},
		{strings.Repeat("\xff", 512), strings.Repeat(`\xff`, 512)},
		{"<script>&amp;", "<script>&amp;"},
		{"", ""},
	} {
		if got := readable(test.key); got != test.want {
			t.Errorf("readable(%q) = %s, want %s", test.key, got, test.want)
		}
	}
}

// TestReadableIsInvertible: it is what Go would read back as the same bytes,
// so no two keys look the same.
func TestReadableIsInvertible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "key")
		text := readable(key)
		if !utf8.ValidString(text) {
			t.Fatalf("%q is no UTF-8", text)
		}
		for _, r := range text {
			if !strconv.IsPrint(r) {
				t.Fatalf("%q has %q", text, r)
			}
		}
		back, err := strconv.Unquote(`"` + strings.ReplaceAll(text, `"`, `\"`) + `"`)
		if err != nil || back != key {
			t.Fatalf("%q became %q, which is %q (%v)", key, text, back, err)
		}
	})
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		grouped(uint64(0)):                  "0",
		grouped(uint64(999)):                "999",
		grouped(uint64(1000)):               "1,000",
		grouped(int64(1234567)):             "1,234,567",
		grouped(int64(-1)):                  "0",
		rate(0):                             "0",
		rate(0.04):                          "0.0",
		rate(12.34):                         "12.3",
		rate(99.96):                         "100",
		rate(1234.5):                        "1,235",
		percent(0):                          "0",
		percent(0.0001):                     "< 0.1",
		percent(0.165):                      "16.5",
		percent(0.5):                        "50",
		percent(0.9999):                     "> 99.9",
		percent(1):                          "100",
		size(0):                             "0 bytes",
		size(1023):                          "1023 bytes",
		size(1024):                          "1 KB",
		size(1536):                          "1.5 KB",
		size(1 << 30):                       "1 GB",
		size(150 << 20):                     "150 MB",
		size(3 << 50):                       "3072 TB",
		span(0):                             "0s",
		span(-time.Second):                  "0s",
		span(59 * time.Second):              "59s",
		span(61 * time.Second):              "1m 1s",
		span(25*time.Hour + 30*time.Minute): "1d 1h",
		span(3*time.Hour + 4*time.Minute):   "3h 4m",
		boundText(10 * time.Microsecond):    "10 µs",
		boundText(2500 * time.Microsecond):  "2.5 ms",
		boundText(time.Second):              "1 s",
		strconv.Itoa(int(latencyBounds()[4]) / 1000): "250",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
