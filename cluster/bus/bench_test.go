package bus

import (
	"sync"
	"testing"
)

// Calls of 64 bytes over loopback, answered with as much. In flight: calls that
// are not answered yet.
func BenchmarkCalls(b *testing.B) {
	for _, bench := range []struct {
		name   string
		flight int
	}{
		{"flight=1", 1},
		{"flight=16", 16},
		{"flight=256", 256},
	} {
		b.Run(bench.name, func(b *testing.B) {
			_, calls := connect(b)
			payload := make([]byte, 64)
			free := make(chan struct{}, bench.flight)
			for range bench.flight {
				free <- struct{}{}
			}
			done := func(_ []byte, err error) {
				if err != nil {
					b.Error(err)
				}
				free <- struct{}{}
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				<-free
				if err := calls.Start(kindQuick, payload, patience, done); err != nil {
					b.Fatal(err)
				}
			}
			for range bench.flight {
				<-free
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}

// The same, by goroutines that wait.
func BenchmarkCall(b *testing.B) {
	_, calls := connect(b)
	payload := make([]byte, 64)
	const callers = 64
	var all sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for g := range callers {
		n := b.N / callers
		if g < b.N%callers {
			n++
		}
		all.Go(func() {
			for range n {
				if _, err := calls.Call(b.Context(), kindQuick, payload); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// What it costs to open a connection, both sides together.
func BenchmarkDial(b *testing.B) {
	quiet := func(c *Config) { c.Events = Events{} } // too many to keep
	n, o := start(b, quiet), other(b, quiet)
	l := n.listen(b, LaneControl)
	b.ReportAllocs()
	for b.Loop() {
		dialed, accepted := pair(b, o, n, l)
		dialed.Close()
		accepted.Close()
	}
}
