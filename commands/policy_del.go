package commands

// RL.POLICY.DEL name
func policyDelCommand() Command {
	return Command{
		Name: "rl.policy.del", Aliases: []string{"rl.policydel"}, Group: GroupPolicies, Since: "0.2.0",
		Summary:    "Deletes a policy.",
		Complexity: "O(log n) in the policies, and a majority of the voters writes it to disk",
		Flags:      FlagWrite | FlagNames, Keys: oneKey(), Category: CategoryAdmin,
		Args:  []Arg{{Name: "name", Type: TypeKey}},
		Reply: "integer: 1, or 0 if there was none",
		Help:  []string{"Its buckets are left to the sweep; a policy of the same name that counts by the same finds what was used still used."},
		Run:   runPolicyDel,
	}
}

func runPolicyDel(c *Call) error {
	if _, err := c.policies(); err != nil {
		return err
	}
	name := string(c.Args[1])
	await(c, "RL.POLICY.GET", func(done func(bool, error)) {
		c.d.cfg.Policies.Delete(name, nil, done)
	}, func(existed bool) {
		c.W.Int(bit(existed))
	})
	return nil
}
