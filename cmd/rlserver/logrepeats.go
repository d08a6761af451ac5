package main

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// repeatWindow is the time in which a message may be logged repeatMost
	// times; the others are counted.
	repeatWindow = time.Minute
	repeatMost   = 10
	// repeatKinds bounds the messages that are counted apart; the others share
	// one count. Messages are constants of the code, but not all of them are
	// of this code.
	repeatKinds = 256
)

// repeats is a slog.Handler that lets so many records of one level and message
// pass in a window, and sums up the rest when the window is over. Whoever asks
// for debug wants all of it: that level passes.
type repeats struct {
	next   slog.Handler
	shared *repeatCounts
}

type repeatCounts struct {
	root slog.Handler // writes the summaries

	mu    sync.Mutex
	began time.Time // the window
	seen  map[repeatKey]int
}

type repeatKey struct {
	level   slog.Level
	message string
}

func newRepeats(next slog.Handler) *repeats {
	return &repeats{next: next, shared: &repeatCounts{root: next, seen: make(map[repeatKey]int)}}
}

// Enabled implements slog.Handler.
func (r *repeats) Enabled(ctx context.Context, level slog.Level) bool {
	return r.next.Enabled(ctx, level)
}

// Handle implements slog.Handler. The record's time is the clock.
func (r *repeats) Handle(ctx context.Context, record slog.Record) error {
	if record.Level > slog.LevelDebug {
		r.expire(record.Time)
		if !r.shared.pass(repeatKey{record.Level, record.Message}) {
			return nil
		}
	}
	return r.next.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (r *repeats) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &repeats{r.next.WithAttrs(attrs), r.shared}
}

// WithGroup implements slog.Handler.
func (r *repeats) WithGroup(name string) slog.Handler {
	return &repeats{r.next.WithGroup(name), r.shared}
}

// expire sums up a window that is over.
func (r *repeats) expire(now time.Time) { r.shared.sumUp(now, now.Add(-repeatWindow)) }

// flush sums up the window that is not over.
func (r *repeats) flush(now time.Time) { r.shared.sumUp(now, now) }

func (c *repeatCounts) pass(key repeatKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.seen[key]; !known && len(c.seen) >= repeatKinds {
		key.message = "(others)"
	}
	c.seen[key]++
	return c.seen[key] <= repeatMost
}

// sumUp begins a new window if the last one began at latest or before, and
// writes what was left out in it.
func (c *repeatCounts) sumUp(now, latest time.Time) {
	c.mu.Lock()
	if c.began.After(latest) {
		c.mu.Unlock()
		return
	}
	seen := c.seen
	c.began, c.seen = now, make(map[repeatKey]int)
	c.mu.Unlock()

	var left []repeatKey
	for key, n := range seen {
		if n > repeatMost {
			left = append(left, key)
		}
	}
	slices.SortFunc(left, func(a, b repeatKey) int { return strings.Compare(a.message, b.message) })
	for _, key := range left {
		record := slog.NewRecord(now, key.level, "repeated messages were left out", 0)
		record.AddAttrs(slog.String("message", key.message), slog.Int("times", seen[key]-repeatMost))
		_ = c.root.Handle(context.Background(), record) // as other records that fail
	}
}
