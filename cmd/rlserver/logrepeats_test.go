package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// record makes records of a clock of the test's own.
func record(at time.Duration, level slog.Level, message string) slog.Record {
	return slog.NewRecord(time.Unix(1000, 0).Add(at), level, message, 0)
}

// bare is a handler that writes all but the time.
func bare(b *bytes.Buffer) slog.Handler {
	return slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
}

// lines counts what was written, line by line.
func lines(b *bytes.Buffer) map[string]int {
	got := make(map[string]int)
	for line := range strings.Lines(b.String()) {
		got[strings.TrimSpace(line)]++
	}
	b.Reset()
	return got
}

func TestRepeats(t *testing.T) {
	var b bytes.Buffer
	r := newRepeats(bare(&b))
	handle := func(h slog.Handler, n int, at time.Duration, level slog.Level, message string) {
		t.Helper()
		for range n {
			if err := h.Handle(t.Context(), record(at, level, message)); err != nil {
				t.Fatal(err)
			}
		}
	}
	expect := func(want map[string]int) {
		t.Helper()
		if diff := cmp.Diff(want, lines(&b)); diff != "" {
			t.Error(diff)
		}
	}
	// Attributes do not make a message another one, its level does.
	peer := r.WithAttrs([]slog.Attr{slog.String("addr", "a")})
	handle(r, 5, 0, slog.LevelWarn, "refused")
	handle(peer, 7, time.Second, slog.LevelWarn, "refused")
	handle(r.WithGroup("g"), 3, time.Second, slog.LevelInfo, "refused")
	handle(r, 100, 59*time.Second, slog.LevelDebug, "refused")
	expect(map[string]int{
		"level=WARN msg=refused":        5,
		"level=WARN msg=refused addr=a": 5,
		"level=INFO msg=refused":        3,
		"level=DEBUG msg=refused":       100,
	})

	// The window is over: any record tells what was left out, without the
	// attributes of whoever logs it, and begins the next.
	handle(peer, 12, time.Minute, slog.LevelInfo, "other")
	expect(map[string]int{
		`level=WARN msg="repeated messages were left out" message=refused times=2`: 1,
		"level=INFO msg=other addr=a": 10,
	})
	handle(r, 1, time.Minute+time.Second, slog.LevelWarn, "refused")
	r.expire(time.Unix(1000, 0).Add(2*time.Minute - 1))
	expect(map[string]int{"level=WARN msg=refused": 1})

	// Without a record, time alone does.
	r.expire(time.Unix(1000, 0).Add(2 * time.Minute))
	expect(map[string]int{`level=INFO msg="repeated messages were left out" message=other times=2`: 1})
	r.expire(time.Unix(1000, 0).Add(3 * time.Minute))
	expect(map[string]int{})

	// So does the end.
	handle(r, 11, 3*time.Minute, slog.LevelError, "late")
	r.flush(time.Unix(1000, 0).Add(3*time.Minute + 1))
	expect(map[string]int{
		"level=ERROR msg=late": 10,
		`level=ERROR msg="repeated messages were left out" message=late times=1`: 1,
	})
}

// However many messages there are, the memory for them is bounded.
func TestRepeatsAreBounded(t *testing.T) {
	var b bytes.Buffer
	r := newRepeats(bare(&b))
	const messages = repeatKinds + 100
	for i := range messages {
		_ = r.Handle(t.Context(), record(0, slog.LevelInfo, fmt.Sprintf("message %d", i)))
	}
	if n := len(r.shared.seen); n > repeatKinds+1 {
		t.Errorf("%d messages are counted", n)
	}
	if n := len(lines(&b)); n != repeatKinds+repeatMost {
		t.Errorf("%d of %d lines were written", n, messages)
	}
	r.flush(time.Unix(1000, 0))
	if diff := cmp.Diff(map[string]int{`level=INFO msg="repeated messages were left out" message=(others) times=90`: 1}, lines(&b)); diff != "" {
		t.Error(diff)
	}
}

func TestRepeatsEnabled(t *testing.T) {
	r := newRepeats(slog.NewTextHandler(&bytes.Buffer{}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if r.Enabled(context.Background(), slog.LevelInfo) || !r.Enabled(context.Background(), slog.LevelWarn) {
		t.Error("the level is not that of the handler below")
	}
}
