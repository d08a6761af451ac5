package commands

import (
	"fmt"
	"strings"
)

// LATENCY LATEST | HISTORY | HISTOGRAM | RESET | DOCTOR
func latencyCommand() Command {
	sub := func(name, summary, reply string, run func(*Call) error, args ...Arg) Command {
		return Command{
			Name: name, Since: "0.1.0", Summary: summary, Complexity: "O(n) in what is kept",
			Flags: FlagAdmin | FlagLoading, Keys: noKeys(), Category: CategoryAdmin, Args: args, Reply: reply, Run: run,
		}
	}
	events := Arg{Name: "event", Type: TypeString, Optional: true, Multiple: true}
	return withHelp(Command{
		Name: "latency", Group: GroupServer, Since: "0.1.0",
		Summary: "Tells what took as long as CONFIG SET latency-monitor-threshold says, in milliseconds; 0, the default, notes nothing.", Complexity: "O(n) in what is kept",
		Flags: FlagAdmin | FlagLoading, Keys: noKeys(), Category: CategoryAdmin,
		Help: []string{
			"Events are command, fast-command (decisions among them; by the batch), sweep and eviction.",
			"Of fast commands one in 64 is timed and stands for the others.",
		},
		Sub: []Command{
			sub("latest", "Lists events.", "array of [event, Unix seconds, milliseconds, the most milliseconds]", runLatencyLatest),
			sub("history", "Lists when an event took too long, the last 160 seconds with any.", "array of [Unix seconds, milliseconds]", runLatencyHistory,
				Arg{Name: "event", Type: TypeString}),
			sub("histogram", "Tells for commands that ran, or those named, how many took no longer than so many microseconds.",
				"map of commands to calls and histogram_usec", runLatencyHistogram, Arg{Name: "command", Type: TypeString, Optional: true, Multiple: true}),
			sub("reset", "Forgets events, or those named.", "integer: how many", func(c *Call) error {
				c.W.Int(int64(c.d.latency.reset(c.Args[2:])))
				return nil
			}, events),
			sub("doctor", "Tells it in words.", "text", runLatencyDoctor),
		},
	})
}

func runLatencyLatest(c *Call) error {
	events := c.d.latency.all()
	c.W.Array(len(events))
	for _, e := range events {
		last := e.last[len(e.last)-1]
		c.W.Array(4)
		c.W.BulkString(string(e.event))
		c.W.Int(last.at)
		c.W.Int(last.nanos / millisecond)
		c.W.Int(e.worst / millisecond)
	}
	return nil
}

func runLatencyHistory(c *Call) error {
	for _, e := range c.d.latency.all() {
		if string(e.event) != string(c.Args[2]) {
			continue
		}
		c.W.Array(len(e.last))
		for _, s := range e.last {
			c.W.Array(2)
			c.W.Int(s.at)
			c.W.Int(s.nanos / millisecond)
		}
		return nil
	}
	c.W.Array(0)
	return nil
}

// runLatencyHistogram answers for commands of which at least one run was
// timed. The name of a container stands for its subcommands.
func runLatencyHistogram(c *Call) error {
	var wanted []*entry
	for _, e := range c.d.entries {
		if e.stats.times.runs.Load() > 0 && (len(c.Args) == 2 || e.among(c.Args[2:])) {
			wanted = append(wanted, e)
		}
	}
	c.W.Map(len(wanted))
	for _, e := range wanted {
		c.W.BulkString(e.full)
		c.W.Map(2)
		c.histogram(&e.stats)
	}
	return nil
}

func (e *entry) among(names [][]byte) bool {
	container, _, _ := strings.Cut(e.full, "|")
	for _, name := range names {
		if strings.EqualFold(string(name), e.full) || strings.EqualFold(string(name), container) {
			return true
		}
	}
	return false
}

// histogram writes the calls of a command, and how many took no longer than
// each of the bounds between which there are any. Where some were timed, they
// stand for all.
func (c *Call) histogram(stats *commandStats) {
	var sums [histogramBuckets]uint64
	timed := uint64(0)
	used := 0
	for i := range sums {
		if n := stats.times.buckets[i].Load(); n > 0 {
			timed += n
			used++
		}
		sums[i] = timed
	}
	calls := max(stats.calls.load(), timed)
	c.W.BulkString("calls")
	c.W.Int(int64(calls))
	c.W.BulkString("histogram_usec")
	c.W.Map(used)
	before := uint64(0)
	for i, sum := range sums {
		if sum == before {
			continue
		}
		before = sum
		c.W.Int(histogramBound(i) / 1000)
		c.W.Int(int64(float64(sum) / float64(timed) * float64(calls)))
	}
}

func runLatencyDoctor(c *Call) error {
	threshold, events := c.d.latency.threshold.Load(), c.d.latency.all()
	var b strings.Builder
	switch {
	case threshold == 0:
		b.WriteString("Nothing is noted: " + settingLatency + " is 0. CONFIG SET " + settingLatency + " 100 notes what takes 100 ms or longer.\n")
	case len(events) == 0:
		fmt.Fprintf(&b, "Nothing took %d ms or longer since that is watched, or since LATENCY RESET.\n", threshold/millisecond)
	}
	for _, e := range events {
		sum := int64(0)
		for _, s := range e.last {
			sum += s.nanos
		}
		fmt.Fprintf(&b, "%s: seconds with any %d, on average %d ms, at most %d ms, the last %d s ago. %s\n",
			e.event, len(e.last), sum/int64(len(e.last))/millisecond, e.worst/millisecond, max(c.Now/second-e.last[len(e.last)-1].at, 0), e.event.advice())
	}
	c.W.Verbatim(b.String())
	return nil
}

// advice says where to look.
func (e LatencyEvent) advice() string {
	switch e {
	case LatencyCommand:
		return "SLOWLOG GET lists such commands with their arguments; SCAN with a smaller COUNT and RL.TOP with a smaller n take less."
	case LatencyFastCommand:
		return "Decisions take microseconds: look whether the machine has a core to spare, whether it swaps, and how long pipelines are."
	case LatencySweep:
		return "A step of the sweeper takes less than a millisecond: look whether the machine has a core to spare, and whether it swaps."
	case LatencyEviction:
		return "Buckets make room for others: raise max-memory, or lower it in smaller steps."
	}
	return ""
}
