package commands

// RL.RESET key
func resetKeyCommand() Command {
	return Command{
		Name: "rl.reset", Group: GroupDecision, Since: "0.1.0",
		Summary:    "Makes key as new: full, with nothing remembered.",
		Complexity: "O(log n) in the keys of one slot",
		Flags:      FlagWrite | FlagFast, Keys: oneKey(), Category: CategoryAdmin,
		Args:  []Arg{{Name: "key", Type: TypeKey}},
		Reply: "integer: 1, or 0 if the key was unknown or full",
		Run:   runResetKey,
	}
}

func runResetKey(c *Call) error {
	key, err := c.onlyKey()
	if err != nil {
		return err
	}
	c.W.Int(bit(c.keyed().Reset(key, c.Now)))
	return nil
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
