package commands

// CLUSTER, READONLY, READWRITE, ASKING. To clients several nodes are a Redis
// Cluster without replicas. A node that is alone is a Redis without cluster
// support, and says so in Redis' words: some clients decide by the text.

const errNoCluster = replyError("ERR This instance has cluster support disabled")

func clusterCommand() Command {
	id := Arg{Name: "node-id", Type: TypeString}
	slot := Arg{Name: "slot", Type: TypeInteger}
	cmd := withHelp(Command{
		Name: "cluster", Group: GroupCluster, Since: "0.1.0",
		Summary: "A container for subcommands that describe the cluster in Redis' forms.", Complexity: "depends on the subcommand",
		Flags: FlagLoading, Keys: noKeys(), Category: CategoryConnection,
		Sub: []Command{
			clusterSubcommand("count-failure-reports", "Answers 0: nodes here do not report each other's failures.", "integer", clusterReports, id),
			ofKeys(clusterSubcommand("countkeysinslot", "Counts the keys that this node has in a hash slot.", "integer", clusterCountKeys, slot)),
			ofKeys(clusterSubcommand("getkeysinslot", "Lists keys that this node has in a hash slot.", "array of keys", clusterKeys, slot, Arg{Name: "count", Type: TypeInteger})),
			clusterSubcommand("info", "Tells whether all slots have owners, and how many nodes there are.", "text", clusterInfo),
			clusterSubcommand("keyslot", "Tells the hash slot of a key.", "integer", clusterKeySlot, Arg{Name: "key", Type: TypeString}),
			clusterSubcommand("links", "Answers an empty array: nodes here speak another protocol with each other.", "array", (*Call).emptyArray),
			clusterSubcommand("myid", "Tells the id of this node.", "40 hex digits", clusterMyID),
			clusterSubcommand("myshardid", "Tells the id of this node's shard, which is the node's own: each is alone in its shard.", "40 hex digits", clusterMyID),
			clusterSubcommand("nodes", "Lists the nodes and their slots.", "text, a line each", clusterNodes),
			clusterSubcommand("replicas", "Answers an empty array: no node has replicas.", "array", clusterReplicas, id),
			clusterSubcommand("shards", "Lists the nodes and their slots.", "array of maps: slots, nodes", clusterShards),
			clusterSubcommand("slaves", "As REPLICAS.", "array", clusterReplicas, id),
			clusterSubcommand("slots", "Lists which node owns which slots.", "array of [first, last, [host, port, id, metadata]]", clusterSlots),
		},
	})
	for i := range cmd.Sub {
		cmd.Sub[i].Run = ofSeveral(cmd.Sub[i].Run)
	}
	return cmd
}

// ofKeys is a subcommand that shows what is counted here: not to everybody, and
// not before all is there.
func ofKeys(cmd Command) Command {
	cmd.Flags, cmd.Category, cmd.Complexity = 0, CategoryRead, "O(n) in the keys of the slot"
	return cmd
}

func clusterSubcommand(name, summary, reply string, run func(*Call) error, args ...Arg) Command {
	return Command{
		Name: name, Group: GroupCluster, Since: "0.1.0", Summary: summary, Complexity: "O(n) in the nodes and the ranges of slots",
		Flags: FlagLoading, Keys: noKeys(), Category: CategoryConnection,
		Args: args, Reply: reply, Run: run,
	}
}

// ofSeveral is a command of one of several nodes.
func ofSeveral(run func(*Call) error) func(*Call) error {
	return func(c *Call) error {
		if c.d.cfg.Sharing == nil {
			return errNoCluster
		}
		return run(c)
	}
}

func readonlyCommand() Command {
	return clusterModeCommand("readonly", "Accepted for clients that send it: there are no replicas to read from.")
}

func readwriteCommand() Command {
	return clusterModeCommand("readwrite", "Accepted for clients that send it.")
}

func askingCommand() Command {
	return clusterModeCommand("asking", "Accepted for clients that send it: no node answers ASK.")
}

func clusterModeCommand(name, summary string) Command {
	return Command{
		Name: name, Group: GroupCluster, Since: "0.1.0", Summary: summary, Complexity: "O(1)",
		Flags: FlagFast | FlagLoading, Keys: noKeys(), Category: CategoryConnection, Reply: "OK",
		Run: ofSeveral(func(c *Call) error {
			c.W.Simple("OK")
			return nil
		}),
	}
}

func clusterKeySlot(c *Call) error {
	c.W.Int(int64(c.d.cfg.Ownership.Slot(c.Args[2])))
	return nil
}

// slotArg reads the slot that stands behind the subcommand.
func (c *Call) slotArg() (slot uint16, inRange bool, err error) {
	n, ok := parseInt(c.Args[2])
	if !ok {
		return 0, false, errNotInteger
	}
	return uint16(n), n >= 0 && n <= maxSlot, nil
}

func clusterCountKeys(c *Call) error {
	slot, inRange, err := c.slotArg()
	if err != nil {
		return err
	}
	if !inRange {
		return replyError("ERR Invalid slot")
	}
	c.W.Int(int64(c.d.cfg.Buckets.CountInSlot(slot)))
	return nil
}

func clusterKeys(c *Call) error {
	slot, inRange, err := c.slotArg()
	if err != nil {
		return err
	}
	most, ok := parseInt(c.Args[3])
	if !ok {
		return errNotInteger
	}
	if !inRange || most < 0 {
		return replyError("ERR Invalid slot or number of keys")
	}
	var keys [][]byte
	c.d.cfg.Buckets.KeysInSlot(slot, int(min(most, maxScanCount)), c.Now, func(key []byte) {
		if c.user.Reaches(key) {
			keys = append(keys, append([]byte(nil), key...))
		}
	})
	c.W.Array(len(keys))
	for _, key := range keys {
		c.W.Bulk(key)
	}
	return nil
}

// knownNode checks that the id behind the subcommand is a node's.
func (c *Call) knownNode() error {
	for _, n := range c.d.atlas().nodes {
		if n.ID == string(c.Args[2]) {
			return nil
		}
	}
	return replyError("ERR Unknown node " + clean(c.Args[2], 128))
}

func clusterReports(c *Call) error {
	if err := c.knownNode(); err != nil {
		return err
	}
	c.W.Int(0)
	return nil
}

func clusterReplicas(c *Call) error {
	if err := c.knownNode(); err != nil {
		return err
	}
	return c.emptyArray()
}

func (c *Call) emptyArray() error {
	c.W.Array(0)
	return nil
}
