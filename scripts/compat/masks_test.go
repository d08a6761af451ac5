package compat

import (
	"regexp"
	"testing"
)

// rule says what in a reply may differ, and why.
type rule struct {
	pattern string // what it matches is taken for the same
	why     string
}

// rules are the masks that a script can name.
func rules() map[string]rule {
	return map[string]rule{
		"version": {`"\d+\.\d+\.\d+"`, "rlserver announces a newer Redis than the reference, so that clients use what both have"},
		"integer": {`: "-?\d+"`, "a number that depends on the server: a time, an id, how many commands there are"},
		"digits":  {`"\d+"`, "a time as text"},
	}
}

func mask(t *testing.T, name, text string) string {
	t.Helper()
	r, known := rules()[name]
	if !known {
		t.Fatalf("no mask %q", name)
	}
	return regexp.MustCompile(r.pattern).ReplaceAllString(text, "<"+name+">")
}
