package server_test

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlserver/rlserver/resp/server"
)

// inTime runs a test in the time of testing/synctest, with a server on pipes.
func inTime(t *testing.T, test func(*testing.T, *fixture, *pipes), change ...func(*server.Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f, ln := newFixture(t, change...), newPipes()
		f.serve(t, ln)
		test(t, f, ln)
	})
}

// expectAfter sees the connection end for a reason, some time after begin.
func (f *fixture) expectAfter(t *testing.T, p *peer, begin time.Time, least, most time.Duration, want server.Reason) {
	t.Helper()
	p.expectEnd()
	synctest.Wait()
	expectNext(t, f.closed, want)
	if took := time.Since(begin); took < least || took > most {
		t.Errorf("ended after %s, want %s to %s", took, least, most)
	}
}

func TestIdleTimeout(t *testing.T) {
	inTime(t, func(t *testing.T, f *fixture, ln *pipes) {
		p := ln.dial(t)
		for range 5 { // each renews it
			<-time.After(50 * time.Second)
			p.ask(ping, "+PONG\r\n")
		}
		f.expectAfter(t, p, time.Now(), time.Minute, time.Minute, server.ReasonIdle)
	}, func(c *server.Config) { c.IdleTimeout = time.Minute })
}

// A client that never says anything is idle, too.
func TestIdleFromTheStart(t *testing.T) {
	inTime(t, func(t *testing.T, f *fixture, ln *pipes) {
		p := ln.dial(t)
		f.expectAfter(t, p, time.Now(), time.Second, time.Second, server.ReasonIdle)
	}, func(c *server.Config) { c.IdleTimeout = time.Second })
}

// By default pools may keep their connections for ever.
func TestNoIdleTimeout(t *testing.T) {
	inTime(t, func(t *testing.T, _ *fixture, ln *pipes) {
		p := ln.dial(t)
		p.ask(ping, "+PONG\r\n")
		<-time.After(1000 * time.Hour)
		p.ask(ping, "+PONG\r\n")
	})
}

// Bytes that dribble in do not give a command more time; a command that is
// complete does.
func TestCommandTimeout(t *testing.T) {
	inTime(t, func(t *testing.T, f *fixture, ln *pipes) {
		p := ln.dial(t)
		for range 3 {
			p.send("*2\r\n$4\r\nECHO")
			<-time.After(9 * time.Second)
			p.ask("\r\n$1\r\na\r\n", "$1\r\na\r\n")
		}
		begin := time.Now()
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			for {
				if _, err := io.WriteString(p, "x"); err != nil {
					return
				}
				<-time.After(time.Second)
			}
		}()
		f.expectAfter(t, p, begin, 10*time.Second, 10*time.Second, server.ReasonCommand)
		<-gone
	})
}

// A command that a pipeline ends with has its time from when it began, however
// busy the connection is.
func TestCommandTimeoutBehindPipeline(t *testing.T) {
	inTime(t, func(t *testing.T, f *fixture, ln *pipes) {
		p := ln.dial(t)
		p.ask(pings(50)+"*1\r\n", pongs(50))
		f.expectAfter(t, p, time.Now(), 10*time.Second, 10*time.Second, server.ReasonCommand)
	}, func(c *server.Config) { c.IdleTimeout = time.Hour })
}

// A client that does not take its replies is cut between once and twice
// WriteTimeout.
func TestWriteTimeout(t *testing.T) {
	inTime(t, func(t *testing.T, f *fixture, ln *pipes) {
		p := ln.dial(t)
		p.ask(ping, "+PONG\r\n")
		<-time.After(3 * time.Second)
		begin := time.Now()
		p.send(ping)
		expectNext(t, f.closed, server.ReasonWrite)
		if took := time.Since(begin); took < 5*time.Second || took > 10*time.Second {
			t.Errorf("cut after %s", took)
		}
		p.expectEnd()
	})
}

// A client that sends and never reads is stopped by its socket long before it
// costs memory, and cut.
func TestNeverReads(t *testing.T) {
	f := start(t, func(c *server.Config) { c.WriteTimeout = 100 * time.Millisecond })
	p := f.dial(t)
	const most = 256 << 20
	chunk, sent := []byte(pings(4096)), 0
	for sent < most {
		n, err := p.Write(chunk)
		sent += n
		if err != nil {
			break
		}
	}
	if sent >= most {
		t.Error("the server reads on and on")
	}
	expectNext(t, f.closed, server.ReasonWrite)
}

// counted counts what a connection is asked for.
type counted struct {
	net.Conn

	reads, writes, deadlines atomic.Int64
}

func (c *counted) Read(b []byte) (int, error) {
	c.reads.Add(1)
	return c.Conn.Read(b)
}

func (c *counted) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}

func (c *counted) SetReadDeadline(t time.Time) error {
	c.deadlines.Add(1)
	return c.Conn.SetReadDeadline(t)
}

func (c *counted) SetWriteDeadline(t time.Time) error {
	c.deadlines.Add(1)
	return c.Conn.SetWriteDeadline(t)
}

// A batch costs one read, one write and one look at the clock; deadlines are
// moved some times a second at most.
func TestCostOfBatch(t *testing.T) {
	var clock atomic.Int64
	inTime(t, func(t *testing.T, _ *fixture, ln *pipes) {
		var c *counted
		p := ln.dial(t, func(nc net.Conn) net.Conn {
			c = &counted{Conn: nc}
			return c
		})
		p.ask(pings(50), pongs(50)) // fits the first buffer
		clock.Store(0)
		c.reads.Store(0)
		c.writes.Store(0)
		c.deadlines.Store(0)
		const batches = 1000
		for range batches {
			<-time.After(10 * time.Millisecond)
			p.ask(pings(50), pongs(50))
		}
		synctest.Wait()
		const seconds = batches / 100
		if n := c.writes.Load(); n != batches {
			t.Errorf("%d writes", n)
		}
		if n := c.reads.Load(); n < batches || n > batches+3*seconds {
			t.Errorf("%d reads", n)
		}
		if n := c.deadlines.Load(); n > 4*seconds {
			t.Errorf("deadlines moved %d times", n)
		}
		if n := clock.Load(); n < batches || n > batches+3*seconds {
			t.Errorf("%d looks at the clock", n)
		}
	}, func(c *server.Config) {
		c.IdleTimeout = time.Minute
		c.Now = func() int64 {
			clock.Add(1)
			return time.Now().UnixNano()
		}
	})
}
