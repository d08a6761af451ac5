package commands

// LATENCY LATEST | HISTORY | HISTOGRAM | RESET | DOCTOR
//
// Nothing is monitored by event; the answers say so.
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
			sub("doctor", "Says where to look instead.", "text", func(c *Call) error {
				c.W.Verbatim("No latency event is recorded here. SLOWLOG GET lists slow commands; decisions are measured by the metrics.\n")
				return nil
			}),
		},
	})
}
