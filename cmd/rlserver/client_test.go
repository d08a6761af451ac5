package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// client is a connection that speaks RESP2, and shows replies as one line.
type client struct {
	net.Conn

	r *bufio.Reader
}

// dial connects; secure is nil without TLS.
func dial(t *testing.T, addr string, secure *tls.Config) *client {
	t.Helper()
	c, err := tryDial(addr, secure)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func tryDial(addr string, secure *tls.Config) (*client, error) {
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if secure != nil {
		t := tls.Client(conn, secure)
		if err := t.Handshake(); err != nil {
			conn.Close()
			return nil, err
		}
		conn = t
	}
	return &client{conn, bufio.NewReader(conn)}, nil
}

// ask sends one command of words with spaces between, and returns its reply.
func (c *client) ask(t *testing.T, command string) string {
	t.Helper()
	reply, err := c.try(command)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return reply
}

func (c *client) try(command string) (string, error) {
	if _, err := io.WriteString(c, encode(command)); err != nil {
		return "", err
	}
	return c.reply()
}

func (c *client) expect(t *testing.T, command, want string) {
	t.Helper()
	if got := c.ask(t, command); !strings.HasPrefix(got, want) {
		t.Errorf("%s: got %s, want %s", command, got, want)
	}
}

func encode(command string) string {
	words := strings.Fields(command)
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b.String()
}

// reply reads one: errors and simple strings as they are, the elements of
// arrays and maps with spaces between.
func (c *client) reply() (string, error) {
	line, err := c.r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	switch line[0] {
	case '+', '-', ':':
		return line, nil
	case '$', '=':
		size, err := strconv.Atoi(line[1:])
		if err != nil || size < 0 {
			return "nil", err
		}
		text := make([]byte, size+2)
		_, err = io.ReadFull(c.r, text)
		return string(text[:size]), err
	case '*', '%':
		size, err := strconv.Atoi(line[1:])
		if line[0] == '%' {
			size *= 2
		}
		parts := make([]string, max(size, 0))
		for i := range parts {
			if parts[i], err = c.reply(); err != nil {
				return "", err
			}
		}
		return "[" + strings.Join(parts, " ") + "]", err
	}
	return "", fmt.Errorf("no reply begins like %q", line)
}
