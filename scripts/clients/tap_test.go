package clients

import (
	"bytes"
	"io"
	"net"
	"regexp"
	"sync"
	"testing"
)

// tap stands between clients and a server and keeps what the clients send.
type tap struct {
	addr string // where clients connect

	mu   sync.Mutex
	sent []*bytes.Buffer // one a connection
}

// startTap passes on connections to server until the test ends.
func startTap(t *testing.T, server string) *tap {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{addr: listener.Addr().String()}
	var connections sync.WaitGroup
	connections.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // closed
			}
			connections.Go(func() { p.serve(client, server) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		connections.Wait()
	})
	return p
}

// serve ends when either side does.
func (p *tap) serve(client net.Conn, server string) {
	defer client.Close()
	upstream, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer upstream.Close()

	sent := &bytes.Buffer{}
	p.mu.Lock()
	p.sent = append(p.sent, sent)
	p.mu.Unlock()

	var replies sync.WaitGroup
	replies.Go(func() {
		_, _ = io.Copy(client, upstream)
		client.Close()
	})
	_, _ = io.Copy(io.MultiWriter(upstream, &locked{&p.mu, sent}), client)
	upstream.Close()
	replies.Wait()
}

// protocol is the newest that a client asked for: without HELLO it is 2.
func (p *tap) protocol() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	hello3 := regexp.MustCompile(`(?i)\r\n\$5\r\nhello\r\n\$1\r\n3\r\n`)
	for _, sent := range p.sent {
		if hello3.Match(sent.Bytes()) {
			return 3
		}
	}
	return 2
}

// sends says whether a client sent this word as a command or an argument.
func (p *tap) sends(word string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	find := regexp.MustCompile(`(?i)\r\n` + regexp.QuoteMeta(word) + `\r\n`)
	for _, sent := range p.sent {
		if find.Match(sent.Bytes()) {
			return true
		}
	}
	return false
}

// locked writes under a lock.
type locked struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
