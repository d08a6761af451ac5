package main

import (
	"crypto/tls"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// TestDrain: SIGTERM ends a server under full pipelines. Every decision that
// it made has reached who asked for it, and no reply is cut.
func TestDrain(t *testing.T) {
	ca := newAuthority(t, "CA")
	s := startServer(t, ca.files(t).flags(false)...)
	const (
		each = 4   // clients of each door
		most = 500 // commands on their way, as of a client that bounds its pipeline
	)
	var replies atomic.Int64
	var clients sync.WaitGroup
	busy := make(chan struct{}, 2*each)
	for _, door := range []struct {
		addr   string
		secure *tls.Config
	}{{s.addr, nil}, {s.tlsAddr, ca.trust()}} {
		for range each {
			c := dial(t, door.addr, door.secure)
			window, gone := make(chan struct{}, most), make(chan struct{})
			clients.Go(func() { // asks until the server is gone
				command := []byte(encode("RL.ALLOW k 1000000000 1h"))
				for {
					select {
					case <-gone:
						return
					case window <- struct{}{}:
					}
					if _, err := c.Write(command); err != nil {
						return
					}
				}
			})
			clients.Go(func() {
				defer close(gone)
				defer c.Close()
				for n := 0; ; n++ {
					reply, err := c.reply()
					if err != nil {
						if !errors.Is(err, io.EOF) || reply != "" {
							t.Errorf("a reply is cut: %q, %v", reply, err)
						}
						return
					}
					if !strings.HasPrefix(reply, "[:1 ") {
						t.Errorf("got %s", reply)
					}
					replies.Add(1)
					<-window
					if n == 1000 {
						busy <- struct{}{}
					}
				}
			})
		}
	}
	for range cap(busy) {
		<-busy
	}
	s.signal(t, syscall.SIGTERM)
	clients.Wait()
	stopped := s.expectLog(t, "stopped")
	if err := s.wait(t); err != nil {
		t.Error(err)
	}
	if got, want := float64(replies.Load()), stopped["allowed"].(float64); got != want {
		t.Errorf("%.0f decisions were made, %.0f replies arrived", want, got)
	}
	if strings.Contains(s.log.String(), "clients were cut") {
		t.Errorf("clients were cut:\n%s", s.log)
	}
}
