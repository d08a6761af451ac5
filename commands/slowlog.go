package commands

import (
	"math"
	"strings"
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
	for i, arg := range c.Args {
		if i == maxSlowArgs {
			break
		}
		e.args = append(e.args, shortened(arg))
	}
	if c.entry.Flags&FlagNoAuth != 0 { // its words may be secrets
		e.args = []string{c.entry.full, "(redacted)"}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e.id = l.next
	l.next++
	l.entries = append(l.entries, e)
	if over := len(l.entries) - int(l.keep.Load()); over > 0 {
		l.entries = append(l.entries[:0:0], l.entries[over:]...)
	}
}

func shortened(arg []byte) string {
	if len(arg) > maxSlowBytes {
		return string(arg[:maxSlowBytes]) + "..."
	}
	return string(arg)
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
		return unknownOrWrongArity(c.entry)
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

// LATENCY: nothing is monitored by event; the answers say so.
func latencyCommand() Command {
	sub := func(name, summary, reply string, run func(*Call) error, args ...Arg) Command {
		return Command{
			Name: name, Since: "0.1.0", Summary: summary, Complexity: "O(1)",
			Flags: FlagAdmin | FlagLoading, Keys: noKeys(), Category: CategoryAdmin, Args: args, Reply: reply, Run: run,
		}
	}
	empty := func(c *Call) error { c.W.Array(0); return nil }
	words := Arg{Name: "word", Type: TypeString, Optional: true, Multiple: true}
	return withHelp(Command{
		Name: "latency", Group: GroupServer, Since: "0.1.0",
		Summary: "Answers that no latency event was recorded.", Complexity: "O(1)",
		Flags: FlagAdmin | FlagLoading, Keys: noKeys(), Category: CategoryAdmin,
		Sub: []Command{
			sub("latest", "Lists events: none.", "empty array", empty),
			sub("history", "Lists an event's history: empty.", "empty array", empty, Arg{Name: "event", Type: TypeString}),
			sub("histogram", "Lists histograms: none.", "empty map", func(c *Call) error { c.W.Map(0); return nil }, words),
			sub("reset", "Answers 0: nothing to reset.", "integer", func(c *Call) error { c.W.Int(0); return nil }, words),
		},
	})
}

// unknownOrWrongArity is Redis' text for a subcommand with too many words.
func unknownOrWrongArity(e *entry) error {
	container, sub, _ := strings.Cut(e.full, "|")
	return replyError("ERR unknown subcommand or wrong number of arguments for '" + sub + "'. Try " + strings.ToUpper(container) + " HELP.")
}
