package commands

// RL.CLUSTER.STATUS
func clusterStatusCommand() Command {
	return Command{
		Name: "rl.cluster.status", Aliases: []string{"rl.clusterstatus"}, Group: GroupNodes, Since: "0.2.0",
		Summary:    "Tells how the cluster fares, as this node sees it.",
		Complexity: "O(n) in the members",
		Flags:      FlagReadOnly | FlagLoading, Keys: noKeys(), Category: CategoryRead,
		Reply: "map of names and texts",
		Run: func(c *Call) error {
			fields := c.d.cfg.Cluster.Status()
			c.W.Map(len(fields))
			for _, f := range fields {
				c.W.BulkString(f.Name)
				c.W.BulkString(f.Value)
			}
			return nil
		},
	}
}
