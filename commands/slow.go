package commands

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

// slowEntry is one line of SLOWLOG.
type slowEntry struct {
	id       int64
	at       int64 // Unix nanoseconds
	duration int64 // nanoseconds
	args     []string
	addr     string
	name     string
}

// Bounds of what SLOWLOG keeps of a command, as in Redis.
const (
	maxSlowArgs  = 32
	maxSlowBytes = 128
)

// slowlog keeps the last commands that took long. Decisions take microseconds
// by construction and are not timed, so that they do not pay for the clock.
type slowlog struct {
	threshold atomic.Int64 // nanoseconds; negative: off
	keep      atomic.Int64

	mu      sync.Mutex
	next    int64
	entries []slowEntry // newest last; up to twice as many as count
}

// note records a command if it was slow.
func (l *slowlog) note(c *Call, duration int64) {
	threshold := l.threshold.Load()
	if threshold < 0 || duration < threshold {
		return
	}
	peer := c.S.Info()
	e := slowEntry{at: c.Now, duration: duration, addr: peer.RemoteAddr, name: peer.Name}
	if e.args = shortened(c.Args); c.entry.Flags&FlagSecret != 0 {
		e.args = []string{c.entry.full, "(redacted)"}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e.id = l.next
	l.next++
	l.entries = append(l.entries, e)
	l.trim()
}

// trim drops the oldest lines, when there are so many that a copy pays. Lines
// that were handed out stay as they are.
func (l *slowlog) trim() {
	if keep := int(l.keep.Load()); len(l.entries) > 2*keep {
		l.entries = slices.Clone(l.entries[len(l.entries)-keep:])
	}
}

// recent returns the lines that count, oldest first.
func (l *slowlog) recent() []slowEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entries[max(0, len(l.entries)-int(l.keep.Load())):]
}

func (l *slowlog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

// shortened copies a command, without what would make the log large.
func shortened(args [][]byte) []string {
	kept := make([]string, 0, min(len(args), maxSlowArgs))
	for i, arg := range args {
		switch {
		case i == maxSlowArgs-1 && len(args) > maxSlowArgs:
			return append(kept, fmt.Sprintf("... (%d more arguments)", len(args)-i))
		case len(arg) > maxSlowBytes:
			kept = append(kept, fmt.Sprintf("%s... (%d more bytes)", arg[:maxSlowBytes], len(arg)-maxSlowBytes))
		default:
			kept = append(kept, string(arg))
		}
	}
	return kept
}

// The settings of Redis that steer the log.
const (
	settingSlow     = "slowlog-log-slower-than" // microseconds, -1: off
	settingSlowKept = "slowlog-max-len"
)

// settings are the log's lines of CONFIG GET.
func (l *slowlog) settings() []Setting {
	return []Setting{
		{settingSlow, strconv.FormatInt(slowMicros(l.threshold.Load()), 10)},
		{settingSlowKept, strconv.FormatInt(l.keep.Load(), 10)},
	}
}

func slowMicros(ns int64) int64 {
	if ns < 0 {
		return -1
	}
	return ns / 1000
}

// maxSlowKept bounds the memory of the log: about 4 KiB a line.
const maxSlowKept = 10_000

// set changes one of its settings; false if name is none.
func (l *slowlog) set(name, value string) (known bool, err error) {
	switch name {
	case settingSlow:
		micros, err := settingNumber(value, -1, math.MaxInt64/1000)
		if err == nil {
			l.threshold.Store(max(micros*1000, -1))
		}
		return true, err
	case settingSlowKept:
		lines, err := settingNumber(value, 0, maxSlowKept)
		if err == nil {
			l.keep.Store(lines)
			l.mu.Lock()
			defer l.mu.Unlock()
			l.trim()
		}
		return true, err
	}
	return false, nil
}

// settingNumber reads a number within lo..hi; errors are in Redis' words.
func settingNumber(value string, lo, hi int64) (int64, error) {
	n, ok := parseInt([]byte(value))
	switch {
	case !ok:
		return 0, errors.New("argument couldn't be parsed into an integer")
	case n < lo || n > hi:
		return 0, fmt.Errorf("argument must be between %d and %d inclusive", lo, hi)
	}
	return n, nil
}
