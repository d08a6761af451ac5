package commands

// PING [message]
func pingCommand() Command {
	return Command{
		Name: "ping", Group: GroupConnection, Since: "0.1.0",
		Summary:    "Answers PONG, or the message.",
		Complexity: "O(1)",
		Flags:      FlagFast | FlagLoading | FlagSubscriber, Keys: noKeys(), Category: CategoryConnection,
		Args:  []Arg{{Name: "message", Type: TypeString, Optional: true}},
		Reply: "PONG, or the message as a bulk string",
		Run:   runPing,
	}
}

func runPing(c *Call) error {
	if len(c.Args) > 2 {
		return wrongArity(c.entry)
	}
	message := c.Args[1:]
	switch {
	case len(c.channels) > 0 && c.W.Proto() == 2: // a subscriber's replies are arrays
		c.W.Array(2)
		c.W.BulkString("pong")
		if len(message) == 0 {
			message = [][]byte{nil}
		}
		c.W.Bulk(message[0])
	case len(message) == 1:
		c.W.Bulk(message[0])
	default:
		c.W.Simple("PONG")
	}
	return nil
}
