package commands

// QUIT
func quitCommand() Command {
	return Command{
		Name: "quit", Group: GroupConnection, Since: "0.1.0",
		Summary:    "Closes the connection once everything before it is answered.",
		Complexity: "O(1)",
		Flags:      FlagFast | FlagLoading | FlagSubscriber | FlagNoAuth | FlagNoQueue, Keys: noKeys(), Category: CategoryConnection,
		Args:  []Arg{{Name: "ignored", Type: TypeString, Optional: true, Multiple: true}},
		Reply: "OK",
		Run: func(c *Call) error {
			c.W.Simple("OK")
			c.S.Close()
			return nil
		},
	}
}
