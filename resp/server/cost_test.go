package server_test

import (
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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
	const clients, most = 200, 16 << 10
	synctest.Test(t, func(t *testing.T) {
		f, ln := newFixture(t), newPipes()
		f.serve(t, ln)
		before := memory()
		conns := make([]net.Conn, clients)
		reply := make([]byte, len(pongs(3000)))
		for i := range conns {
			conns[i] = ln.dial(t).Conn
			go func() { _, _ = io.WriteString(conns[i], pings(3000)) }() // a failure shows in what is read
			if _, err := io.ReadFull(conns[i], reply); err != nil {
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
		runtime.KeepAlive(conns)
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
