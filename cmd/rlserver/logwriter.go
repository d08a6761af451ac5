package main

import (
	"context"
	"io"
	"sync"
)

// maxLogQueue is the most bytes of lines that wait to be written.
const maxLogQueue = 256 << 10

// lineWriter writes lines from a goroutine of its own: Write never waits. What
// does not fit into the queue is dropped and counted.
type lineWriter struct {
	to   io.Writer
	lost func(lines int) // tells, from the goroutine, that lines were dropped

	mu      sync.Mutex
	queue   []byte
	dropped int
	closing bool

	wake chan struct{} // something is queued, or closing is set
	done chan struct{} // the goroutine has ended
}

func newLineWriter(to io.Writer, lost func(lines int)) *lineWriter {
	w := &lineWriter{to: to, lost: lost, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go w.run()
	return w
}

// Write takes one line, or drops it whole.
func (w *lineWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	if len(w.queue)+len(line) > maxLogQueue {
		w.dropped++
	} else {
		w.queue = append(w.queue, line...)
	}
	w.mu.Unlock()
	w.awake()
	return len(line), nil
}

func (w *lineWriter) awake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *lineWriter) run() {
	defer close(w.done)
	var spare []byte
	for range w.wake {
		w.mu.Lock()
		lines, dropped, closing := w.queue, w.dropped, w.closing
		w.queue, w.dropped = spare[:0], 0
		w.mu.Unlock()
		if len(lines) > 0 {
			_, _ = w.to.Write(lines) // there is nowhere to report it
		}
		if dropped > 0 {
			w.lost(dropped)
		}
		if closing {
			return
		}
		spare = lines
	}
}

// close writes what is queued, and gives up when ctx ends. What is written
// later may be lost.
func (w *lineWriter) close(ctx context.Context) {
	w.mu.Lock()
	w.closing = true
	w.mu.Unlock()
	w.awake()
	select {
	case <-w.done:
	case <-ctx.Done():
	}
}
