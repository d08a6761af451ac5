package commands

// CLUSTER, READONLY, READWRITE, ASKING. To clients a node that is alone is a
// Redis without cluster support, and says so in Redis' words: some clients
// decide by the text.

const errNoCluster = replyError("ERR This instance has cluster support disabled")

func clusterCommand() Command {
	id := Arg{Name: "node-id", Type: TypeString}
	slot := Arg{Name: "slot", Type: TypeInteger}
	return Command{
		Name: "cluster", Group: GroupCluster, Since: "0.1.0",
		Summary: "Answers that cluster support is disabled.", Complexity: "O(1)",
		Flags: FlagLoading, Keys: noKeys(), Category: CategoryConnection,
		Sub: []Command{
			noClusterCommand("count-failure-reports", id),
			noClusterCommand("countkeysinslot", slot),
			noClusterCommand("getkeysinslot", slot, Arg{Name: "count", Type: TypeInteger}),
			noClusterCommand("help"),
			noClusterCommand("info"),
			noClusterCommand("keyslot", Arg{Name: "key", Type: TypeString}),
			noClusterCommand("links"),
			noClusterCommand("myid"),
			noClusterCommand("myshardid"),
			noClusterCommand("nodes"),
			noClusterCommand("replicas", id),
			noClusterCommand("shards"),
			noClusterCommand("slaves", id),
			noClusterCommand("slots"),
		},
	}
}

func readonlyCommand() Command { return noClusterCommand("readonly") }

func readwriteCommand() Command { return noClusterCommand("readwrite") }

func askingCommand() Command { return noClusterCommand("asking") }

func noClusterCommand(name string, args ...Arg) Command {
	return Command{
		Name: name, Group: GroupCluster, Since: "0.1.0",
		Summary: "Answers that cluster support is disabled.", Complexity: "O(1)",
		Flags: FlagFast | FlagLoading, Keys: noKeys(), Category: CategoryConnection,
		Args: args, Reply: "error",
		Run: func(*Call) error { return errNoCluster },
	}
}
