package commands

// RL.REFUND key n [POLICY name [TIER t] [ENDPOINT e] [ATTR name value ...]]
func refundCommand() Command {
	return Command{
		Name: "rl.refund", Group: GroupDecision, Since: "0.1.0",
		Summary:    "Gives units back to key that were taken for nothing.",
		Complexity: "O(log n) in the keys of one slot",
		Flags:      FlagWrite | FlagFast, Keys: oneKey(), Category: CategoryDecide,
		Args: append([]Arg{
			{Name: "key", Type: TypeKey},
			{Name: "n", Type: TypeInteger},
		}, policyArgs()...),
		Reply: "array: refunded, remaining; an unknown or full key: 0 and null",
		Help: []string{
			"At most what is used is given back, rounded up, never beyond full.",
			"sliding-log gives back the newest first, sliding-window and fixed-window of the current window only.",
			"leaky-bucket: an error, since the turns behind it are already promised.",
			policyFormHelp,
		},
		Run: runRefund,
	}
}

func runRefund(c *Call) error {
	r := c.reader()
	key, n := r.key(), r.units("n", 1)
	if r.more() {
		_, ask, err := c.policyBucket(&r, key)
		if err != nil {
			return err
		}
		return c.refunded(c.policyKeyed().RefundPolicy(ask.Slot, ask.Key, n, c.Now))
	}
	if err := r.end(); err != nil {
		return err
	}
	if err := c.serve(key); err != nil {
		return err
	}
	return c.refunded(c.keyed().Refund(key, n, c.Now))
}

func (c *Call) refunded(refunded, remaining int64, found bool, err error) error {
	if err != nil {
		return err
	}
	c.W.Array(2)
	c.W.Int(refunded)
	if found {
		c.W.Int(remaining)
	} else {
		c.W.Null()
	}
	return nil
}
