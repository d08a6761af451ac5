package clients

import (
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// wanted is what every snippet prints that is given some nodes. A word ~n is a
// time that begins at n and runs down while the snippet runs, at most by a
// minute.
func wanted(nodes int) string {
	return decisions + strings.Repeat("node 2 1h\n", nodes) + "reset 1\ndeleted 1\n"
}

const decisions = `allow 1 2 1 0 1800000
allow 1 2 0 0 ~3600000
allow 0 2 0 ~1800000 ~3600000
throttle 0 2 1 -1 1800
throttle 0 2 0 -1 ~3600
throttle 1 2 0 ~1800 ~3600
pipeline 1 1 0
transaction 1 1 0
policy 2 1h
policies logins
check 1 2 1 logins
check 1 2 0 logins
check 0 2 0 logins
`

func TestSnippets(t *testing.T) {
	for _, c := range clients() {
		t.Run(fmt.Sprintf("%s/RESP%d", c.name, c.protocol), func(t *testing.T) {
			t.Parallel()
			t.Logf("%s %s", c.name, c.installed(t))
			c.compile(t)
			tap := startTap(t, startServer(t))
			host, port := split(t, tap.addr)
			c.ask(t, host, port)
			if got := tap.protocol(); got != c.protocol {
				t.Errorf("it spoke RESP%d, want RESP%d", got, c.protocol)
			}
			if !tap.sends("MULTI") || !tap.sends("EXEC") {
				t.Error("its transaction was none")
			}
		})
	}
}

// compile makes what the snippet's language must have compiled.
func (c client) compile(t *testing.T) {
	t.Helper()
	if c.build != nil {
		succeed(t, c.build[0], c.build[1:]...)
	}
}

// ask runs the snippet against some nodes and checks what it prints. The nodes
// behind the first are asked for what that one was told.
func (c client) ask(t *testing.T, host string, ports ...string) {
	t.Helper()
	args := slices.Concat(c.run[1:], []string{host, strings.Join(ports, ",")}, c.args)
	if err := matches(wanted(len(ports)), succeed(t, c.run[0], args...)); err != nil {
		t.Error(err)
	}
}

// installed returns the version of the library, or ends the test.
func (c client) installed(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), c.version[0], c.version[1:]...).Output()
	version := strings.TrimSpace(string(out))
	if err != nil || version == "" {
		missing(t, c.name, c.install)
	}
	return version
}

// matches compares what was printed with what is wanted, line by line and word
// by word.
func matches(want, got string) error {
	wantLines, gotLines := strings.Split(want, "\n"), strings.Split(got, "\n")
	if len(wantLines) != len(gotLines) {
		return fmt.Errorf("it printed\n%s\nwant\n%s", got, want)
	}
	for i := range wantLines {
		wantWords, gotWords := strings.Split(wantLines[i], " "), strings.Split(gotLines[i], " ")
		same := len(wantWords) == len(gotWords)
		for j := 0; same && j < len(wantWords); j++ {
			same = wordMatches(wantWords[j], gotWords[j])
		}
		if !same {
			return fmt.Errorf("line %d: %q, want %q", i+1, gotLines[i], wantLines[i])
		}
	}
	return nil
}

func wordMatches(want, got string) bool {
	start, ok := strings.CutPrefix(want, "~")
	if !ok {
		return want == got
	}
	from, err := strconv.Atoi(start)
	if err != nil {
		return false
	}
	now, err := strconv.Atoi(got)
	minute := 60 // in the unit of the command: hours are told in seconds, or in milliseconds
	if from > 3600 {
		minute = 60_000
	}
	return err == nil && from-minute < now && now <= from
}

func TestMatches(t *testing.T) {
	for _, tc := range []struct {
		want, got string
		ok        bool
	}{
		{"allow 1 2\n", "allow 1 2\n", true},
		{"allow 1 2\n", "allow 1 3\n", false},
		{"allow 1 2\n", "allow 1\n", false},
		{"allow 1 2\n", "", false},
		{"wait ~1800000\n", "wait 1800000\n", true},
		{"wait ~1800000\n", "wait 1740001\n", true},
		{"wait ~1800000\n", "wait 1740000\n", false},
		{"wait ~1800000\n", "wait 1800001\n", false},
		{"wait ~1800\n", "wait 1741\n", true},
		{"wait ~1800\n", "wait 1740\n", false},
		{"wait ~1800\n", "wait a\n", false},
	} {
		if err := matches(tc.want, tc.got); (err == nil) != tc.ok {
			t.Errorf("%q for %q: %v", tc.got, tc.want, err)
		}
	}
}
