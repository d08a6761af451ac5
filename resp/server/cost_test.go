package server_test

import (
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlserver/rlserver/resp/server"
)

// A round trip allocates nothing, neither for an array nor for a line.
func TestNoAllocations(t *testing.T) {
	f := start(t)
	p := f.dial(t)
	for name, row := range map[string]struct{ send, reply string }{
		"array":    {ping, "+PONG\r\n"},
		"pipeline": {strings.Repeat("*2\r\n$4\r\nECHO\r\n$3\r\nabc\r\n", 64), strings.Repeat("$3\r\nabc\r\n", 64)},
		"inline":   {"ECHO abc\r\n", "$3\r\nabc\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			send, reply := []byte(row.send), make([]byte, len(row.reply))
			n := testing.AllocsPerRun(500, func() {
				if _, err := p.Write(send); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(p.Conn, reply); err != nil {
					t.Fatal(err)
				}
			})
			if n > 0 {
				t.Errorf("%.0f allocations", n)
			}
			if string(reply) != row.reply {
				t.Errorf("reply %.40q", reply)
			}
		})
	}
}

// A connection that has been busy and is quiet again costs little, 2 KiB and a
// stack of 4: 10,000 of them, as pools keep, fit beside a limiter's keys. What
// is measured holds the client's end too, and what the race detector adds.
func TestIdleMemory(t *testing.T) {
	const clients, most = 200, 20 << 10
	synctest.Test(t, func(t *testing.T) {
		f, ln := newFixture(t), newPipes()
		f.serve(t, ln)
		before := memory()
		conns := make([]net.Conn, clients)
		for i := range conns {
			conns[i] = ln.dial(t).Conn
		}
		reply := make([]byte, len(pongs(3000)))
		for range 2 { // they can be busy again, and quiet again
			for _, c := range conns {
				go func() { _, _ = io.WriteString(c, pings(3000)) }() // a failure shows in what is read
				if _, err := io.ReadFull(c, reply); err != nil {
					t.Fatal(err)
				}
			}
			busy := memory() - before
			<-time.After(10 * time.Second)
			synctest.Wait()
			idle := memory() - before
			t.Logf("%d bytes when busy, %d when idle", busy/clients, idle/clients)
			if idle/clients > most {
				t.Errorf("an idle connection costs %d bytes, want at most %d", idle/clients, most)
			}
			if busy < 2*idle {
				t.Errorf("busy connections cost %d bytes, idle ones %d: that shows nothing", busy/clients, idle/clients)
			}
		}
		runtime.KeepAlive(conns)
	})
}

// Who has not authenticated costs little more than an idle connection: a buffer
// of 4 KiB, replies of 1 KiB and what they grew by.
func TestStrangerMemory(t *testing.T) {
	const clients, most = 200, 8 << 10
	half := "*2\r\n$4\r\nNONE\r\n$4060\r\n" + strings.Repeat("a", 4060)
	for name, row := range map[string]struct{ send, end, reply, unread string }{
		"half a command": {send: half},
		"does not read":  {half, "\r\n", "-ERR unknown command\r\n", pings(290)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, ln := newFixture(t), newPipes()
				f.handler.password = true
				f.serve(t, ln)
				conns := make([]*peer, clients)
				for i := range conns {
					conns[i] = ln.dial(t)
				}
				synctest.Wait()
				idle := heap()
				for _, p := range conns {
					p.send(row.send)
					if row.end != "" {
						p.ask(row.end, row.reply)
						p.send(row.unread)
					}
				}
				synctest.Wait()
				each := (heap() - idle) / clients
				t.Logf("%d bytes more than when idle", each)
				if each > most {
					t.Errorf("a stranger costs %d bytes more than an idle connection, want at most %d", each, most)
				}
				runtime.KeepAlive(conns)
			})
		})
	}
}

// Over a bound it learns why, and is counted apart from those who do not speak
// the protocol.
func TestStrangerBounds(t *testing.T) {
	f := newFixture(t)
	f.handler.password = true
	ln := listen(t)
	f.addr = ln.Addr().String()
	f.serve(t, ln)
	for send, reply := range map[string]string{
		"*11\r\n":                         "-ERR Protocol error: unauthenticated multibulk length\r\n",
		"*1\r\n$4097\r\n":                 "-ERR Protocol error: unauthenticated bulk length\r\n",
		"*2\r\n$1\r\nx\r\n$4090\r\n":      "-ERR Protocol error: unauthenticated command length\r\n",
		strings.Repeat("x", 4096):         "-ERR Protocol error: unauthenticated inline length\r\n",
		strings.Repeat("x ", 11) + "\r\n": "-ERR Protocol error: unauthenticated inline length\r\n",
	} {
		p := f.dial(t)
		p.ask(send, reply)
		p.expectEnd()
		expectNext(t, f.closed, server.ReasonStranger)
	}
	f.dial(t).ask("*x\r\n", "-ERR Protocol error: invalid multibulk length\r\n")
	expectNext(t, f.closed, server.ReasonProtocol)
}

// A connection that has something to keep, an open transaction, is not asked
// over and over to give it back.
func TestRestOnce(t *testing.T) {
	inTime(t, func(t *testing.T, _ *fixture, ln *pipes) {
		var c *counted
		p := ln.dial(t, func(nc net.Conn) net.Conn {
			c = &counted{Conn: nc}
			return c
		})
		p.ask("QUEUE "+strings.Repeat("x", 4000)+"\r\n", "+OK\r\n+QUEUED\r\n")
		<-time.After(time.Hour)
		if n := c.reads.Load(); n > 20 {
			t.Errorf("%d reads for one command in an hour", n)
		}
		p.ask("QUEUE x\r\n", "-ERR MULTI calls can not be nested\r\n+QUEUED\r\n")
	})
}

// memory is what is in use, in bytes.
func memory() int64 {
	runtime.GC() // twice, since stacks shrink while one runs
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// heap is what is in use without stacks, in bytes: the race detector makes those
// larger.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkRoundTrip is one client over loopback, at several depths.
func BenchmarkRoundTrip(b *testing.B) {
	f := start(b)
	for name, depth := range map[string]int{"1": 1, "16": 16, "64": 64} {
		b.Run(name, func(b *testing.B) {
			p := f.dial(b)
			if err := p.SetDeadline(time.Time{}); err != nil {
				b.Fatal(err)
			}
			send, reply := []byte(pings(depth)), make([]byte, len(pongs(depth)))
			b.ReportAllocs()
			for range b.N / depth {
				if _, err := p.Write(send); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(p.Conn, reply); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
