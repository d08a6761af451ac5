package commands

// RL.RESET key [POLICY name [TIER t] [ENDPOINT e] [ATTR name value ...]]
func resetKeyCommand() Command {
	return Command{
		Name: "rl.reset", Group: GroupDecision, Since: "0.1.0",
		Summary:    "Makes key as new: full, with nothing remembered.",
		Complexity: "O(log n) in the keys of one slot",
		Flags:      FlagWrite | FlagFast, Keys: oneKey(), Category: CategoryAdmin,
		Args:  append([]Arg{{Name: "key", Type: TypeKey}}, policyArgs()...),
		Reply: "integer: 1, or 0 if the key was unknown or full",
		Help:  []string{policyFormHelp},
		Run:   runResetKey,
	}
}

func runResetKey(c *Call) error {
	r := c.reader()
	key := r.key()
	if r.more() {
		_, ask, err := c.policyBucket(&r, key)
		if err != nil {
			return err
		}
		c.W.Int(bit(c.policyKeyed().ResetPolicy(ask.Slot, ask.Key, c.Now)))
		return nil
	}
	if err := r.end(); err != nil {
		return err
	}
	if err := c.serve(key); err != nil {
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
