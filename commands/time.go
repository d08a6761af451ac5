package commands

import "strconv"

// TIME
func timeCommand() Command {
	return Command{
		Name: "time", Group: GroupServer, Since: "0.1.0",
		Summary:    "Tells the server's clock: the wall clock at its start, carried on by the monotonic one.",
		Complexity: "O(1)",
		Flags:      FlagFast | FlagLoading, Keys: noKeys(), Category: CategoryConnection,
		Reply: "array of two bulk strings: Unix seconds, and microseconds of the second",
		Run: func(c *Call) error {
			c.W.Array(2)
			c.W.BulkString(strconv.FormatInt(c.Now/second, 10))
			c.W.BulkString(strconv.FormatInt(c.Now%second/1000, 10))
			return nil
		},
	}
}
