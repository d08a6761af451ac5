package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// reply is what a server answered, as far as it matters here.
type reply struct {
	text  string  // of a scalar; "" for a null
	elems []reply // of an array
}

// first is the scalar, or the first one of an array.
func (r reply) first() string {
	if len(r.elems) > 0 {
		return r.elems[0].first()
	}
	return r.text
}

// appendCommand appends a request as clients send it.
func appendCommand(b []byte, args []string) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(args))
	for _, arg := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return b
}

// errAnswer is the server's own error; any other is one of the connection.
var errAnswer = errors.New("the server answers")

// readReply reads one reply of RESP2. One that says an error is an error.
func readReply(r *bufio.Reader) (reply, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return reply{}, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return reply{}, errors.New("an empty line is no reply")
	}
	switch kind, rest := line[0], line[1:]; kind {
	case '+', ':':
		return reply{text: rest}, nil
	case '-':
		return reply{}, fmt.Errorf("%w: %s", errAnswer, rest)
	case '$':
		return readBulk(r, rest)
	case '*':
		return readArray(r, rest)
	}
	return reply{}, fmt.Errorf("%q begins no reply", line)
}

func readBulk(r *bufio.Reader, size string) (reply, error) {
	n, err := strconv.Atoi(size)
	if err != nil || n > 1<<20 {
		return reply{}, fmt.Errorf("a string of %q bytes", size)
	}
	if n < 0 {
		return reply{}, nil
	}
	b := make([]byte, n+2)
	if _, err := io.ReadFull(r, b); err != nil {
		return reply{}, err
	}
	return reply{text: string(b[:n])}, nil
}

func readArray(r *bufio.Reader, size string) (reply, error) {
	n, err := strconv.Atoi(size)
	if err != nil || n > 1<<10 {
		return reply{}, fmt.Errorf("an array of %q", size)
	}
	var all reply
	for range n {
		elem, err := readReply(r)
		if err != nil {
			return reply{}, err
		}
		all.elems = append(all.elems, elem)
	}
	return all, nil
}

// dial connects, for at most the time that one fill may take. The connection
// is closed when ctx ends.
func dial(ctx context.Context, addr string) (net.Conn, func(), error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		conn.Close()
		return nil, nil, err
	}
	forget := context.AfterFunc(ctx, func() { conn.Close() })
	return conn, func() { forget(); conn.Close() }, nil
}

// ask sends one command on a connection of its own.
func ask(ctx context.Context, addr string, args ...string) (reply, error) {
	conn, hangUp, err := dial(ctx, addr)
	if err != nil {
		return reply{}, err
	}
	defer hangUp()
	if _, err := conn.Write(appendCommand(nil, args)); err != nil {
		return reply{}, err
	}
	return readReply(bufio.NewReader(conn))
}
