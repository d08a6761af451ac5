package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadReply(t *testing.T) {
	for _, tt := range []struct {
		in, first string
		bad       bool
	}{
		{in: "+PONG\r\n", first: "PONG"},
		{in: ":-12\r\n", first: "-12"},
		{in: "$3\r\na\rb\r\n", first: "a\rb"},
		{in: "$0\r\n\r\n"},
		{in: "$-1\r\n"},
		{in: "*-1\r\n"},
		{in: "*0\r\n"},
		{in: "*3\r\n:1\r\n$-1\r\n*1\r\n:7\r\n", first: "1"},
		{in: "*1\r\n*1\r\n:7\r\n", first: "7"},
		{in: "-ERR wrong\r\n", bad: true},
		{in: "*1\r\n-ERR wrong\r\n", bad: true},
		{in: "\r\n", bad: true},
		{in: "?\r\n", bad: true},
		{in: "$x\r\n", bad: true},
		{in: "$99999999\r\n", bad: true},
		{in: "*99999999\r\n", bad: true},
		{in: "$3\r\nab", bad: true},
		{in: "*2\r\n:1\r\n", bad: true},
		{in: "+PO", bad: true},
	} {
		r := bufio.NewReader(strings.NewReader(tt.in + ":42\r\n"))
		if tt.bad {
			r = bufio.NewReader(strings.NewReader(tt.in))
		}
		got, err := readReply(r)
		if got.first() != tt.first || (err != nil) != tt.bad {
			t.Errorf("%q: got %q, %v", tt.in, got.first(), err)
		}
		if tt.bad {
			continue
		}
		if next, err := readReply(r); next.text != "42" || err != nil {
			t.Errorf("%q: then %q, %v: not all of it was read", tt.in, next.text, err)
		}
	}
}

func TestAppendCommand(t *testing.T) {
	got := string(appendCommand([]byte("x"), []string{"SET", "a b", ""}))
	if want := "x*3\r\n$3\r\nSET\r\n$3\r\na b\r\n$0\r\n\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// serve answers the connections of a listener, one after the other, until the
// test ends.
func serve(t *testing.T, answer func(request []string) string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			answerAll(conn, answer)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

func answerAll(conn net.Conn, answer func([]string) string) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for {
		request, err := readReply(r) // a request is an array, too
		if err != nil {
			return
		}
		var words []string
		for _, elem := range request.elems {
			words = append(words, elem.text)
		}
		if _, err := io.WriteString(conn, answer(words)); err != nil {
			return
		}
	}
}

func TestFillAsksForEachKeyOnce(t *testing.T) {
	const n = 3000
	asked := map[string]int{}
	addr := serve(t, func(words []string) string {
		asked[strings.Join(words, " ")]++
		return "*2\r\n:1\r\n:9\r\n"
	})
	if err := fill(t.Context(), addr, []string{"RL.ALLOW", uniform, "100", "60"}, n); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	for i := range n {
		want[fmt.Sprintf("RL.ALLOW key:%012d 100 60", i)] = 1
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}

func TestFillStopsAtAnError(t *testing.T) {
	addr := serve(t, func([]string) string { return "-ERR unknown command\r\n" })
	err := fill(t.Context(), addr, []string{"RL.ALLOW", uniform}, 100_000)
	if err == nil || !strings.Contains(err.Error(), "key 1 of 100000") || !strings.Contains(err.Error(), "unknown command") {
		t.Errorf("got %v", err)
	}
}

func TestFillStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	addr := serve(t, func([]string) string {
		cancel()
		return ""
	})
	if err := fill(ctx, addr, []string{"PING"}, 10); err == nil {
		t.Error("it says that it filled in all")
	}
}
