package main

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"strings"
	"testing"
)

// gate is a writer that nobody reads from until it is opened.
type gate struct {
	bytes.Buffer

	arrived chan struct{} // something waits before the gate
	open    chan struct{}
}

func newGate() *gate { return &gate{arrived: make(chan struct{}, 1), open: make(chan struct{})} }

func (g *gate) Write(p []byte) (int, error) {
	select {
	case g.arrived <- struct{}{}:
	default:
	}
	<-g.open
	return g.Buffer.Write(p)
}

// Lines that fit arrive in their order, whole; the others are counted. Nobody
// waits.
func TestLineWriterNeverWaits(t *testing.T) {
	g := newGate()
	var lost int
	w := newLineWriter(g, func(lines int) { lost += lines })
	line := func(n int) string { return strconv.Itoa(n) + strings.Repeat(".", 1000) + "\n" }
	write := func(n int) {
		if size, err := io.WriteString(w, line(n)); size != len(line(n)) || err != nil {
			t.Fatalf("wrote %d, %v", size, err)
		}
	}
	write(0)
	<-g.arrived
	const lines = 2000 // of 1 KB: far more than the queue
	for n := 1; n < lines; n++ {
		write(n)
	}
	close(g.open)
	w.close(t.Context())
	written := strings.Count(g.String(), "\n")
	if written+lost != lines || written < maxLogQueue/1100 || g.Len() > maxLogQueue+2000 {
		t.Errorf("%d lines of %d bytes written, %d lost", written, g.Len(), lost)
	}
	for n, got := range strings.SplitAfter(g.String(), "\n")[:written] {
		if got != line(n) {
			t.Fatalf("line %d begins with %.10s", n, got)
		}
	}
}

func TestLineWriterFlushesAtTheEnd(t *testing.T) {
	var b bytes.Buffer
	w := newLineWriter(&b, func(int) { t.Error("lost a line") })
	for range 100 {
		_, _ = io.WriteString(w, "line\n")
	}
	w.close(t.Context())
	if got := strings.Count(b.String(), "line\n"); got != 100 {
		t.Errorf("%d lines", got)
	}
}

// The end does not wait for a reader for ever.
func TestLineWriterGivesUp(t *testing.T) {
	g := newGate()
	w := newLineWriter(g, func(int) {})
	_, _ = io.WriteString(w, "line\n")
	<-g.arrived
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.close(ctx)
	close(g.open)
	<-w.done
}
