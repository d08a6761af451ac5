package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// exchange is what a client sends in one write, and the replies to it. A reply
// is a line of wire.receive, in which * stands for anything and \* for a star.
type exchange struct {
	commands [][]string
	replies  []string
}

// TestHandshakes replays what clients send that cannot be installed here, in
// the writes in which they do, a command at a time, and all in one write.
func TestHandshakes(t *testing.T) {
	files, err := filepath.Glob("testdata/handshakes/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no handshakes: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		recorded, err := parseHandshake(string(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		for how, exchanges := range map[string][]exchange{
			"as recorded":  recorded,
			"one by one":   oneByOne(recorded),
			"in one write": {inOneWrite(recorded)},
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				replay(t, dial(t, startServer(t)), exchanges)
			})
		}
	}
}

func replay(t *testing.T, w *wire, exchanges []exchange) {
	t.Helper()
	for _, e := range exchanges {
		w.send(t, e.commands...)
		for i, want := range e.replies {
			got, err := w.receive()
			if err != nil {
				t.Fatalf("%q: %v", e.commands[i], err)
			}
			if !glob(want).MatchString(got) {
				t.Errorf("%q: %s, want %s", e.commands[i], got, want)
			}
		}
	}
	// Behind a reply too many this would not be the next one. A connection that
	// has subscribed answers in another shape.
	w.send(t, []string{"PING", "the end"})
	if got, err := w.receive(); err != nil || got != `"the end"` && got != `["pong" "the end"]` {
		t.Errorf("after the last reply: %s, %v", got, err)
	}
}

func oneByOne(exchanges []exchange) []exchange {
	var single []exchange
	for _, e := range exchanges {
		for i := range e.commands {
			single = append(single, exchange{e.commands[i : i+1], e.replies[i : i+1]})
		}
	}
	return single
}

func inOneWrite(exchanges []exchange) exchange {
	var all exchange
	for _, e := range exchanges {
		all.commands = append(all.commands, e.commands...)
		all.replies = append(all.replies, e.replies...)
	}
	return all
}

// glob matches a whole reply.
func glob(pattern string) *regexp.Regexp {
	quoted := regexp.QuoteMeta(pattern)
	quoted = strings.ReplaceAll(quoted, regexp.QuoteMeta(`\*`), "\x00")
	quoted = strings.ReplaceAll(quoted, regexp.QuoteMeta("*"), ".*")
	quoted = strings.ReplaceAll(quoted, "\x00", regexp.QuoteMeta("*"))
	return regexp.MustCompile("^" + quoted + "$")
}

// parseHandshake reads groups that are separated by empty lines: commands
// behind ">", a reply for each behind "<"; "#" begins a comment.
func parseHandshake(text string) ([]exchange, error) {
	var exchanges []exchange
	for group := range strings.SplitSeq(text, "\n\n") {
		var e exchange
		for line := range strings.SplitSeq(strings.Trim(group, "\n"), "\n") {
			if command, ok := strings.CutPrefix(line, "> "); ok {
				words, err := parseWords(command)
				if err != nil {
					return nil, err
				}
				e.commands = append(e.commands, words)
			} else if reply, ok := strings.CutPrefix(line, "< "); ok {
				e.replies = append(e.replies, reply)
			} else if !strings.HasPrefix(line, "#") {
				return nil, fmt.Errorf("line %q", line)
			}
		}
		if len(e.commands) != len(e.replies) {
			return nil, fmt.Errorf("%d commands, %d replies in\n%s", len(e.commands), len(e.replies), group)
		}
		if len(e.commands) > 0 {
			exchanges = append(exchanges, e)
		}
	}
	if len(exchanges) == 0 {
		return nil, fmt.Errorf("no command in %q", text)
	}
	return exchanges, nil
}

// parseWords splits at blanks; a word may be quoted as in Go.
func parseWords(line string) ([]string, error) {
	var words []string
	for line != "" {
		if quoted, err := strconv.QuotedPrefix(line); err == nil {
			word, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, err
			}
			words = append(words, word)
			line = strings.TrimPrefix(line[len(quoted):], " ")
			continue
		}
		var word string
		word, line, _ = strings.Cut(line, " ")
		if word == "" || strings.Contains(word, `"`) {
			return nil, fmt.Errorf("word %q", word)
		}
		words = append(words, word)
	}
	return words, nil
}

func TestGlob(t *testing.T) {
	for _, tc := range []struct {
		pattern, reply string
		want           bool
	}{
		{":3*", ":36", true},
		{":3*", ":1", false},
		{"+OK", "+OKAY", false},
		{"[*]", "[:1 :2]", true},
		{`"a\*b"`, `"a*b"`, true},
		{`"a\*b"`, `"axb"`, false},
		{"+a.b", "+axb", false},
	} {
		if got := glob(tc.pattern).MatchString(tc.reply); got != tc.want {
			t.Errorf("%s for %s: %v", tc.reply, tc.pattern, got)
		}
	}
}

func TestParseHandshake(t *testing.T) {
	got, err := parseHandshake("# who\n\n> PING\n> ECHO \"a \\x00\" b\n< +PONG\n< *\n\n> TIME\n< [*]\n")
	want := []exchange{
		{[][]string{{"PING"}, {"ECHO", "a \x00", "b"}}, []string{"+PONG", "*"}},
		{[][]string{{"TIME"}}, []string{"[*]"}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	for _, wrong := range []string{"", "# nothing", "> PING", "< +PONG", "PING", "> PING\n\n< +PONG", "> ECHO \"a", "> PING  x\n< *"} {
		if got, err := parseHandshake(wrong); err == nil {
			t.Errorf("%q: %q, want an error", wrong, got)
		}
	}
}
