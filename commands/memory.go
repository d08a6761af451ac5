package commands

import (
	"fmt"
	"strings"
)

// MEMORY USAGE key [SAMPLES n] | STATS | DOCTOR
func memoryCommand() Command {
	return withHelp(Command{
		Name: "memory", Group: GroupGeneric, Since: "0.1.0",
		Summary: "Describes what keys and the process cost.", Complexity: "O(log n) in the keys of one slot",
		Flags: FlagReadOnly, Keys: noKeys(), Category: CategoryRead,
		Sub: []Command{{
			Name: "usage", Since: "0.1.0", Summary: "Tells how many bytes the key's bucket is accounted with.",
			Complexity: "O(log n) in the keys of one slot",
			Flags:      FlagReadOnly, Keys: Keys{2, 2, 1}, Category: CategoryRead,
			Args: []Arg{
				{Name: "key", Type: TypeKey},
				{Name: "count", Type: TypeInteger, Token: "SAMPLES", Optional: true},
			},
			Reply: "integer, or null",
			Run:   runMemoryUsage,
		}, {
			Name: "stats", Since: "0.1.0", Summary: "Tells what the process and its buckets hold, in bytes.", Complexity: "O(1)",
			Keys: noKeys(), Category: CategoryRead, Reply: "map of Redis' names, as far as they mean something here, to numbers",
			Run: runMemoryStats,
		}, {
			Name: "doctor", Since: "0.1.0", Summary: "Tells in words whether memory is short.", Complexity: "O(1)",
			Keys: noKeys(), Category: CategoryRead, Reply: "text",
			Run: runMemoryDoctor,
		}},
	})
}

func runMemoryUsage(c *Call) error {
	for options := c.Args[3:]; len(options) > 0; options = options[2:] {
		if len(options) < 2 || !equalFold(options[0], "SAMPLES") {
			return errSyntax
		}
		switch n, ok := parseInt(options[1]); {
		case !ok:
			return errNotInteger
		case n < 0:
			return errSyntax
		}
	}
	info, found, err := c.inspect(2)
	switch {
	case err != nil:
		return err
	case !found:
		c.W.Null()
	default:
		c.W.Int(info.Bytes)
	}
	return nil
}

func runMemoryStats(c *Call) error {
	info, keys := c.d.cfg.Server.Describe(), c.d.cfg.Buckets.Len()
	whole := []struct {
		name  string
		value int64
	}{
		{"total.allocated", info.MemoryHeap},
		{"overhead.total", max(info.MemoryHeap-info.MemoryBuckets, 0)},
		{"keys.count", keys},
		{"keys.bytes-per-key", info.MemoryBuckets / max(keys, 1)},
		{"dataset.bytes", info.MemoryBuckets},
		{"allocator.allocated", info.MemoryHeap},
		{"allocator.resident", info.MemoryRSS},
		{"fragmentation.bytes", info.MemoryRSS - info.MemoryHeap},
	}
	heap := float64(max(info.MemoryHeap, 1))
	shares := []struct {
		name  string
		value float64
	}{
		{"dataset.percentage", 100 * float64(info.MemoryBuckets) / heap},
		{"fragmentation", float64(info.MemoryRSS) / heap},
	}
	c.W.Map(len(whole) + len(shares))
	for _, s := range whole {
		c.W.BulkString(s.name)
		c.W.Int(s.value)
	}
	for _, s := range shares {
		c.W.BulkString(s.name)
		c.W.Double(s.value)
	}
	return nil
}

func runMemoryDoctor(c *Call) error {
	const nearlyFull = 90 // percent of max-memory
	info := c.d.cfg.Server.Describe()
	var b strings.Builder
	if info.MemoryLimit > 0 && info.MemoryBuckets > info.MemoryLimit/100*nearlyFull {
		fmt.Fprintf(&b, "Buckets hold %s of %s, max-memory: room is made by those that forget least. Raise it, or lower sweep-idle.\n",
			humanBytes(info.MemoryBuckets), humanBytes(info.MemoryLimit))
	}
	if info.EvictedUsed > 0 {
		fmt.Fprintf(&b, "%d buckets that were not full were evicted since the start: their keys began anew. max-memory is, or was, too low.\n", info.EvictedUsed)
	}
	if info.MemoryRSS > 2*info.MemoryHeap && info.MemoryHeap > info.MemoryBuckets {
		fmt.Fprintf(&b, "The process holds %s for a heap of %s: what was freed goes back to the system within minutes.\n",
			humanBytes(info.MemoryRSS), humanBytes(info.MemoryHeap))
	}
	if b.Len() == 0 {
		fmt.Fprintf(&b, "Memory is not short: buckets hold %s of %s.\n", humanBytes(info.MemoryBuckets), humanBytes(info.MemoryLimit))
	}
	c.W.Verbatim(b.String())
	return nil
}
