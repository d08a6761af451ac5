package commands

// ECHO message
func echoCommand() Command {
	return Command{
		Name: "echo", Group: GroupConnection, Since: "0.1.0",
		Summary:    "Answers the message.",
		Complexity: "O(1)",
		Flags:      FlagFast | FlagLoading, Keys: noKeys(), Category: CategoryConnection,
		Args:  []Arg{{Name: "message", Type: TypeString}},
		Reply: "the message as a bulk string",
		Run: func(c *Call) error {
			c.W.Bulk(c.Args[1])
			return nil
		},
	}
}
