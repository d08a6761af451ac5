package commands

import "math"

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
				c.W.Int(int64(len(c.d.slow.recent())))
				return nil
			}),
			sub("reset", "Drops the lines.", "OK", func(c *Call) error {
				c.d.slow.reset()
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
	all := c.d.slow.recent()
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
