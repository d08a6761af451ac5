package commands

// SELECT index
func selectCommand() Command {
	return Command{
		Name: "select", Group: GroupConnection, Since: "0.1.0",
		Summary:    "Accepts database 0, the only one.",
		Complexity: "O(1)",
		Flags:      FlagFast | FlagLoading, Keys: noKeys(), Category: CategoryConnection,
		Args:  []Arg{{Name: "index", Type: TypeInteger}},
		Reply: "OK",
		Run:   runSelect,
	}
}

func runSelect(c *Call) error {
	n, ok := parseInt(c.Args[1])
	switch {
	case !ok:
		return errNotInteger
	case n != int64(int32(n)):
		return errNotInt32
	case n != 0:
		return replyError("ERR DB index is out of range")
	}
	c.W.Simple("OK")
	return nil
}
