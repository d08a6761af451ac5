package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestReadSecret(t *testing.T) {
	for _, test := range []struct{ name, text, want, err string }{
		{"a line", "hunter2\n", "hunter2", ""},
		{"no end of line", "hunter2", "hunter2", ""},
		{"of Windows", "hunter2\r\n", "hunter2", ""},
		{"the first line alone", "hunter2\nnot this\n", "hunter2", ""},
		{"spaces are part of it", " a b \n", " a b ", ""},
		{"one end of line alone is cut", "hunter2\r\r\n", "hunter2\r", ""},
		{"empty file", "", "", "the password is empty"},
		{"empty line", "\nhunter2\n", "", "the password is empty"},
		{"longest", strings.Repeat("x", maxSecret) + "\r\n", strings.Repeat("x", maxSecret), ""},
		{"too long", strings.Repeat("x", maxSecret+1) + "\n", "", "the password has more than 4096 bytes"},
		{"endless", strings.Repeat("x", 1<<20), "", "the password has more than 4096 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := readSecret(write(t, "secret", test.text))
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || strings.Contains(err.Error(), "hunter2") {
					t.Fatalf("got error %v, want %s", err, test.err)
				}
				return
			}
			if err != nil || got != test.want {
				t.Fatalf("got %q, %v", got, err)
			}
		})
	}
	if _, err := readSecret("/nonexistent/secret"); err == nil {
		t.Error("a file that is not there")
	}
}

// A secret shows that it is set, however it is printed.
func TestSecretValue(t *testing.T) {
	s := secretValue("hunter2")
	for _, got := range []string{s.String(), fmt.Sprint(&s), fmt.Sprintf("%v %+v %s", &s, &s, &s)} {
		if strings.Contains(got, "hunter2") || !strings.Contains(got, hidden) {
			t.Error(got)
		}
	}
	if got := new(secretValue).String(); got != "" {
		t.Errorf("an empty one shows as %q", got)
	}
}
