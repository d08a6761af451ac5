package compat

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestGeneric asks both servers everything in testdata/generic.txt.
func TestGeneric(t *testing.T) {
	ask(t, "testdata/generic.txt", startRedis(t), startServer(t), 2, 3)
}

// TestPassword asks two servers that want a password. There a connection
// begins in RESP2, always.
func TestPassword(t *testing.T) {
	ask(t, "testdata/password.txt", startRedis(t, "--requirepass", "pw"), startServer(t, "--password", "pw"), 2)
}

// ask runs a script in some protocols.
func ask(t *testing.T, script string, redis, ours peer, protos ...int) {
	t.Helper()
	sections, err := readScript(script)
	if err != nil {
		t.Fatal(err)
	}
	for _, proto := range protos {
		for _, s := range sections {
			if proto == 3 && s.resp2 {
				continue
			}
			t.Run(fmt.Sprintf("RESP%d/%s", proto, s.title), func(t *testing.T) {
				compare(t, newPair(t, redis, ours, proto), s.steps)
			})
		}
	}
}

// answerTime bounds the wait for a reply. It only passes when a test fails.
const answerTime = 5 * time.Second

// pair is a connection to each server.
type pair struct {
	conns   [2]net.Conn
	readers [2]*bufio.Reader
}

func newPair(t *testing.T, redis, ours peer, proto int) *pair {
	t.Helper()
	var p pair
	for i, server := range []peer{redis, ours} {
		p.conns[i] = server.dial(t)
		p.readers[i] = bufio.NewReader(p.conns[i])
	}
	if proto == 3 {
		p.ask(t, step{send: []byte("HELLO 3\r\n"), replies: 1})
	}
	return &p
}

// ask sends the same to both, and returns what they answer.
func (p *pair) ask(t *testing.T, s step) (texts [2]string) {
	t.Helper()
	for _, conn := range p.conns {
		if err := conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(s.send); err != nil {
			t.Fatalf("line %d: %s: %v", s.line, s.text, err)
		}
	}
	for i, r := range p.readers {
		var b strings.Builder
		for range s.replies {
			text, err := readReply(r)
			b.WriteString(text)
			if err != nil {
				fmt.Fprintf(&b, "no reply: %s\n", describe(err))
				break
			}
		}
		if s.closed {
			rest, err := io.ReadAll(r)
			if err != nil && !errors.Is(err, syscall.ECONNRESET) {
				fmt.Fprintf(&b, "not closed: %s\n", describe(err))
			}
			fmt.Fprintf(&b, "%sclosed\n", rest)
		}
		texts[i] = b.String()
	}
	return texts
}

// describe says what happened to a connection, without its address.
func describe(err error) string {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "silence"
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return "closed"
	}
	return err.Error()
}

func compare(t *testing.T, p *pair, steps []step) {
	t.Helper()
	for _, s := range steps {
		texts := p.ask(t, s)
		for i := range texts {
			for _, name := range s.masks {
				texts[i] = mask(t, name, texts[i])
			}
		}
		same := texts[0] == texts[1]
		switch {
		case s.differs != "" && same:
			t.Errorf("line %d: %s\nthe replies do not differ any more: %s", s.line, s.text, texts[0])
		case s.differs == "" && !same:
			t.Errorf("line %d: %s (-redis +rlserver)\n%s", s.line, s.text, cmp.Diff(texts[0], texts[1]))
		}
		if slices.ContainsFunc(texts[:], func(text string) bool { return strings.Contains(text, "no reply: ") }) && !s.closed {
			t.Fatalf("line %d: %s\nthe connection cannot go on: %s", s.line, s.text, texts[0])
		}
	}
}
