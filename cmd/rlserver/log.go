package main

import (
	"context"
	"io"
	"log/slog"
	"time"
)

// logs is the process's only logger and what stands behind it: repeats are
// counted instead of written, and a reader that does not read loses lines
// instead of stopping whoever logs.
type logs struct {
	*slog.Logger

	repeats *repeats
	writer  *lineWriter
	stop    context.CancelFunc
	stopped chan struct{} // closed when no summary is made any more
}

// logFlushTime is how long the last lines may take at the end.
const logFlushTime = time.Second

// openLogs begins to log to w.
func openLogs(w io.Writer, format string, level slog.Leveler) *logs {
	direct := func(w io.Writer) slog.Handler {
		opts := &slog.HandlerOptions{Level: level}
		if format == "json" {
			return slog.NewJSONHandler(w, opts)
		}
		return slog.NewTextHandler(w, opts)
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &logs{stop: stop, stopped: make(chan struct{})}
	unqueued := slog.New(direct(w))
	l.writer = newLineWriter(w, func(lost int) {
		unqueued.Warn("log lines were lost: nobody read them in time", "lines", lost)
	})
	l.repeats = newRepeats(direct(l.writer))
	l.Logger = slog.New(l.repeats)
	go l.summarise(ctx)
	return l
}

// summarise tells of repeats also when nothing else is logged.
func (l *logs) summarise(ctx context.Context) {
	defer close(l.stopped)
	tick := time.NewTicker(repeatWindow)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			l.repeats.flush(time.Now())
			return
		case now := <-tick.C:
			l.repeats.expire(now)
		}
	}
}

// close writes what is waiting, for a limited time.
func (l *logs) close() {
	l.stop()
	<-l.stopped
	ctx, cancel := context.WithTimeout(context.Background(), logFlushTime)
	defer cancel()
	l.writer.close(ctx)
}
