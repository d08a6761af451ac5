package commands

// PING [message]
func pingCommand() Command {
	return Command{
		Name: "ping", Group: GroupConnection, Since: "0.1.0",
		Summary:    "Answers PONG, or the message.",
		Complexity: "O(1)",
		Flags:      FlagReadOnly | FlagFast | FlagLoading, Keys: noKeys(), Category: CategoryConnection,
		Args:  []Arg{{Name: "message", Type: TypeString, Optional: true}},
		Reply: "PONG, or the message as a bulk string",
		Run:   runPing,
	}
}

func runPing(c *Call) error {
	switch len(c.Args) {
	case 1:
		c.W.Simple("PONG")
	case 2:
		c.W.Bulk(c.Args[1])
	default:
		return wrongArity(c.entry)
	}
	return nil
}
