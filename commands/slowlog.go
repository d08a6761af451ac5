package commands

import (
	"fmt"
	"math"
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
	entries []slowEntry // newest last
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

// trim drops the oldest lines. Lines that were handed out stay as they are.
func (l *slowlog) trim() {
	if over := len(l.entries) - int(l.keep.Load()); over > 0 {
		l.entries = append(l.entries[:0:0], l.entries[over:]...)
	}
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
		n, ok := parseInt([]byte(value))
		if !ok || n < -1 || n > math.MaxInt64/1000 {
			return true, fmt.Errorf("argument must be between -1 and %d inclusive", math.MaxInt64/1000)
		}
		l.threshold.Store(max(n*1000, -1))
	case settingSlowKept:
		n, ok := parseInt([]byte(value))
		if !ok || n < 0 || n > maxSlowKept {
			return true, fmt.Errorf("argument must be between 0 and %d inclusive", maxSlowKept)
		}
		l.keep.Store(n)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.trim()
	default:
		return false, nil
	}
	return true, nil
}

// SLOWLOG GET | LEN | RESET
func slowlogCommand() Command {
	sub := func(name, summary, reply string, run func(*Call) error, args ...Arg) Command {
		return Command{
			Name: name, Since: "0.1.0", Summary: summary, Complexity: "O(n) in the lines",
			Flags: FlagAdmin | FlagLoading, Keys: noKeys(), Category: CategoryAdmin, Args: args, Reply: reply, Run: run,
		}
	}
	return withHelp(Command{
		Name: "slowlog", Group: GroupServer, Since: "0.1.0",
		Summary: "Lists commands that took long; decisions are not timed one by one.", Complexity: "O(n) in the lines",
		Flags: FlagAdmin | FlagLoading, Keys: noKeys(), Category: CategoryAdmin,
		Sub: []Command{
			sub("get", "Lists the newest lines, -1: all.", "array of [id, Unix seconds, microseconds, words, address, name]", runSlowlogGet,
				Arg{Name: "count", Type: TypeInteger, Optional: true}),
			sub("len", "Counts the lines.", "integer", func(c *Call) error {
				c.d.slow.mu.Lock()
				defer c.d.slow.mu.Unlock()
				c.W.Int(int64(len(c.d.slow.entries)))
				return nil
			}),
			sub("reset", "Drops the lines.", "OK", func(c *Call) error {
				c.d.slow.mu.Lock()
				defer c.d.slow.mu.Unlock()
				c.d.slow.entries = nil
				c.W.Simple("OK")
				return nil
			}),
		},
	})
}

func runSlowlogGet(c *Call) error {
	count := int64(10)
	if len(c.Args) > 3 {
		return c.subcommandSyntax()
	}
	if len(c.Args) == 3 {
		n, ok := parseInt(c.Args[2])
		if !ok || n < -1 {
			return replyError("ERR count should be greater than or equal to -1")
		}
		if count = n; n == -1 {
			count = math.MaxInt64
		}
	}
	c.d.slow.mu.Lock()
	all := c.d.slow.entries
	c.d.slow.mu.Unlock() // entries are never changed, only replaced or appended
	n := int(min(count, int64(len(all))))
	c.W.Array(n)
	for i := len(all) - 1; i >= len(all)-n; i-- {
		e := &all[i]
		c.W.Array(6)
		c.W.Int(e.id)
		c.W.Int(e.at / second)
		c.W.Int(e.duration / 1000)
		c.lines(e.args)
		c.W.BulkString(e.addr)
		c.W.BulkString(e.name)
	}
	return nil
}
