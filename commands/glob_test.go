package commands

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func globMatches(tb interface{ Fatal(...any) }, pattern, text string) bool {
	compiled, err := compileGlob(pattern)
	if err != nil {
		tb.Fatal(err)
	}
	return compiled.matches([]byte(text))
}

func TestGlobIsBounded(t *testing.T) {
	if _, err := compileGlob(strings.Repeat("?", maxPattern+1)); err == nil {
		t.Error("a pattern over the bound was taken")
	}
}

func TestGlob(t *testing.T) {
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "\x00\xff", true},
		{"user:*", "user:42", true},
		{"user:*", "users:42", false},
		{"*:42", "user:42", true},
		{"u*r:*2", "user:42", true},
		{"h?llo", "hello", true},
		{"h?llo", "hllo", false},
		{"h[ae]llo", "hallo", true},
		{"h[^e]llo", "hello", false},
		{"h[a-c]llo", "hbllo", true},
		{"h[c-a]llo", "hbllo", true},
		{`h\*llo`, "h*llo", true},
		{`h\*llo`, "hello", false},
		{"h[llo", "hl", true}, // Redis: a set without its end extends to the end
		{`\`, `\`, true},
		{"a**b", "ab", true},
		{"*a*a*a*a*b", strings.Repeat("a", 1000), false},
	} {
		if got := globMatches(t, test.pattern, test.text); got != test.want {
			t.Errorf("glob(%q, %q) = %v", test.pattern, test.text, got)
		}
	}
}

// On patterns of literals, * and ? the standard library's matcher agrees,
// since no text here holds a slash.
func TestGlobAgreesWithPathMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*?]{0,8}`).Draw(t, "pattern")
		text := rapid.StringMatching(`[ab]{0,10}`).Draw(t, "text")
		want, err := path.Match(pattern, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := globMatches(t, pattern, text); got != want {
			t.Fatalf("glob(%q, %q) = %v, path.Match says %v", pattern, text, got, want)
		}
	})
}
