package commands

// RL.SLOT.LIST
func slotListCommand() Command {
	return Command{
		Name: "rl.slot.list", Aliases: []string{"rl.slotlist"}, Group: GroupNodes, Since: "0.2.0",
		Summary:    "Lists which node counts which hash slots.",
		Complexity: "O(n) in the ranges",
		Flags:      FlagReadOnly, Keys: noKeys(), Category: CategoryRead,
		Reply: "array of [first, last, owner, replica, version]; owner and replica are null where there is none",
		Run: func(c *Call) error {
			ranges := c.d.cfg.Cluster.Slots()
			c.W.Array(len(ranges))
			for i := range ranges {
				r := &ranges[i]
				c.W.Array(5)
				c.W.Int(int64(r.First))
				c.W.Int(int64(r.Last))
				c.textOrNull(r.Owner)
				c.textOrNull(r.Replica)
				c.W.Int(int64(r.Version))
			}
			return nil
		},
	}
}

// textOrNull writes a text, or null for an empty one.
func (c *Call) textOrNull(text string) {
	if text == "" {
		c.W.Null()
		return
	}
	c.W.BulkString(text)
}

// RL.SLOT.MOVE first last name
func slotMoveCommand() Command {
	return Command{
		Name: "rl.slot.move", Aliases: []string{"rl.slotmove"}, Group: GroupNodes, Since: "0.2.0",
		Summary:    "Hands hash slots over to a member, with what was counted in them.",
		Complexity: "O(n) in the keys of the slots",
		Flags:      FlagWrite, Keys: noKeys(), Category: CategoryAdmin,
		Args: []Arg{
			{Name: "first", Type: TypeInteger},
			{Name: "last", Type: TypeInteger},
			{Name: "name", Type: TypeString},
		},
		Reply: "OK",
		Run:   runSlotMove,
	}
}

// maxSlot is the last hash slot of Redis Cluster.
const maxSlot = 16383

func runSlotMove(c *Call) error {
	r := c.reader()
	first := r.integer("first", 0, maxSlot)
	last := r.integer("last", first, maxSlot)
	name := string(r.text("name", 1, r.maxKey))
	if err := r.end(); err != nil {
		return err
	}
	await(c, "RL.SLOT.LIST", func(done func(struct{}, error)) {
		c.d.cfg.Cluster.Move(uint16(first), uint16(last), name, func(err error) { done(struct{}{}, err) })
	}, c.ok)
	return nil
}
