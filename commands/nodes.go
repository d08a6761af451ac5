package commands

// RL.NODE.LIST | ADD | REMOVE | PROMOTE | DRAIN | UNDRAIN | FORCEWITHDRAW

func nodeListCommand() Command {
	return Command{
		Name: "rl.node.list", Aliases: []string{"rl.nodelist"}, Group: GroupNodes, Since: "0.2.0",
		Summary:    "Lists the members of the cluster, by name.",
		Complexity: "O(n) in the members",
		Flags:      FlagReadOnly | FlagLoading, Keys: noKeys(), Category: CategoryRead,
		Reply: "array of maps: name, id, addr, bus_addr, role, state, slots, epoch",
		Help: []string{
			"role: leader, voter or nonvoter. state: alive, draining, dead, and the like.",
			"slots: how many the node owns. epoch: its registration, 0 while it is down.",
		},
		Run: runNodeList,
	}
}

func runNodeList(c *Call) error {
	nodes := c.d.cfg.Cluster.Nodes()
	w := c.W
	w.Array(len(nodes))
	for i := range nodes {
		n := &nodes[i]
		w.Map(8)
		for _, field := range []Field{
			{"name", n.Name}, {"id", n.ID}, {"addr", n.Addr}, {"bus_addr", n.BusAddr}, {"role", n.Role}, {"state", n.State},
		} {
			w.BulkString(field.Name)
			w.BulkString(field.Value)
		}
		w.BulkString("slots")
		w.Int(int64(n.Slots))
		w.BulkString("epoch")
		w.Int(int64(n.Epoch))
	}
	return nil
}

// nodeChangeCommands are the commands that change a member, a line each.
func nodeChangeCommands() []Command {
	return []Command{
		nodeChangeCommand("add", NodeAdd, "Lets a node of this name join, also one that was removed."),
		nodeChangeCommand("remove", NodeRemove, "Makes a node a member no more; its slots go to others first."),
		nodeChangeCommand("promote", NodePromote, "Makes a member a voter."),
		nodeChangeCommand("drain", NodeDrain, "Hands the slots of a member to others, and gives it none."),
		nodeChangeCommand("undrain", NodeUndrain, "Lets a drained member have slots again."),
		nodeChangeCommand("forcewithdraw", NodeForceWithdraw, "Takes a member's slots from it without its word: only where it is certain that it is off.",
			"A node that still runs would count beside the new owners: this is the operator's word that it does not."),
	}
}

func nodeChangeCommand(verb string, change NodeChange, summary string, help ...string) Command {
	return Command{
		Name: "rl.node." + verb, Aliases: []string{"rl.node" + verb}, Group: GroupNodes, Since: "0.2.0",
		Summary:    summary,
		Complexity: "O(n) in its slots, and a majority of the voters writes it to disk",
		Flags:      FlagWrite, Keys: noKeys(), Category: CategoryAdmin,
		Args:  []Arg{{Name: "name", Type: TypeString}},
		Reply: "OK",
		Help:  help,
		Run: func(c *Call) error {
			r := c.reader()
			name := string(r.text("name", 1, r.maxKey))
			if err := r.end(); err != nil {
				return err
			}
			await(c, "RL.NODE.LIST", func(done func(struct{}, error)) {
				c.d.cfg.Cluster.Change(change, name, func(err error) { done(struct{}{}, err) })
			}, c.ok)
			return nil
		},
	}
}
