package clients

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// wire is a connection without a client library.
type wire struct {
	conn net.Conn
	r    *bufio.Reader
}

func dial(t *testing.T, addr string) *wire {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &wire{conn, bufio.NewReader(conn)}
}

// send sends commands in one write.
func (w *wire) send(t *testing.T, commands ...[]string) {
	t.Helper()
	var b strings.Builder
	for _, words := range commands {
		fmt.Fprintf(&b, "*%d\r\n", len(words))
		for _, word := range words {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(word), word)
		}
	}
	if _, err := io.WriteString(w.conn, b.String()); err != nil {
		t.Fatal(err)
	}
}

// receive reads a reply and returns it as one line: +OK, -ERR text, :7,
// "bulk", txt"verbatim", null, #t, [array], ~[set], >[push] and {"key": value}.
func (w *wire) receive() (string, error) {
	head, err := w.r.ReadString('\n')
	if err != nil {
		return "", err
	}
	head, ok := strings.CutSuffix(head, "\r\n")
	if !ok || head == "" {
		return "", fmt.Errorf("line %q", head)
	}
	kind, rest := head[0], head[1:]
	switch kind {
	case '+', '-', ':', ',', '#', '(':
		return head, nil
	case '_':
		return "null", nil
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n < -1 {
		return "", fmt.Errorf("line %q", head)
	}
	if n == -1 {
		return "null", nil
	}
	switch kind {
	case '$':
		text, err := w.bulk(n)
		return strconv.Quote(text), err
	case '=':
		text, err := w.bulk(n)
		if err != nil || len(text) < 4 || text[3] != ':' {
			return "", errors.Join(err, fmt.Errorf("verbatim %q", text))
		}
		return text[:3] + strconv.Quote(text[4:]), nil
	case '*':
		items, err := w.items(n)
		return "[" + strings.Join(items, " ") + "]", err
	case '~', '>':
		items, err := w.items(n)
		return string(kind) + "[" + strings.Join(items, " ") + "]", err
	case '%':
		items, err := w.items(2 * n)
		if err != nil {
			return "", err
		}
		pairs := make([]string, n)
		for i := range pairs {
			pairs[i] = items[2*i] + ": " + items[2*i+1]
		}
		return "{" + strings.Join(pairs, ", ") + "}", nil
	}
	return "", fmt.Errorf("line %q", head)
}

func (w *wire) bulk(n int) (string, error) {
	b := make([]byte, n+len("\r\n"))
	if _, err := io.ReadFull(w.r, b); err != nil {
		return "", err
	}
	if string(b[n:]) != "\r\n" {
		return "", fmt.Errorf("%q does not end with CRLF", b)
	}
	return string(b[:n]), nil
}

func (w *wire) items(n int) ([]string, error) {
	items := make([]string, n)
	for i := range items {
		var err error
		if items[i], err = w.receive(); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// ask is a connection for one command.
func ask(t *testing.T, addr string, words ...string) string {
	t.Helper()
	w := dial(t, addr)
	defer w.conn.Close()
	w.send(t, words)
	reply, err := w.receive()
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func TestReceive(t *testing.T) {
	for _, tc := range []struct{ wire, want string }{
		{"+OK\r\n", "+OK"},
		{"-ERR no\r\n", "-ERR no"},
		{":-7\r\n", ":-7"},
		{"#t\r\n", "#t"},
		{"_\r\n", "null"},
		{"$-1\r\n", "null"},
		{"*-1\r\n", "null"},
		{"$4\r\na\r\nb\r\n", `"a\r\nb"`},
		{"=5\r\ntxt:a\r\n", `txt"a"`},
		{"*2\r\n:1\r\n*1\r\n$0\r\n\r\n", `[:1 [""]]`},
		{"~1\r\n+a\r\n", "~[+a]"},
		{">2\r\n+a\r\n_\r\n", ">[+a null]"},
		{"%2\r\n$1\r\na\r\n:1\r\n$1\r\nb\r\n%0\r\n", `{"a": :1, "b": {}}`},
		{"*0\r\n", "[]"},
		{"$2\r\nabcd", ""}, // a wrong length
		{"?1\r\n", ""},
		{"*2\r\n:1\r\n", ""},
		{"+OK\n", ""},
	} {
		got, err := (&wire{r: bufio.NewReader(strings.NewReader(tc.wire))}).receive()
		if got != tc.want && err == nil || (err != nil) != (tc.want == "") {
			t.Errorf("%q: %q, %v; want %q", tc.wire, got, err, tc.want)
		}
	}
}
