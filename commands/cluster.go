package commands

// CLUSTER, READONLY, READWRITE, ASKING. To clients a node that is alone is a
// Redis without cluster support, and says so in Redis' words: some clients
// decide by the text.

const errNoCluster = replyError("ERR This instance has cluster support disabled")

func clusterCommand() Command {
	return noClusterCommand("cluster", "Answers that cluster support is disabled.",
		[]Arg{{Name: "subcommand", Type: TypeString}, {Name: "arg", Type: TypeString, Optional: true, Multiple: true}})
}

func readonlyCommand() Command {
	return noClusterCommand("readonly", "Answers that cluster support is disabled.", nil)
}
func readwriteCommand() Command {
	return noClusterCommand("readwrite", "Answers that cluster support is disabled.", nil)
}
func askingCommand() Command {
	return noClusterCommand("asking", "Answers that cluster support is disabled.", nil)
}

func noClusterCommand(name, summary string, args []Arg) Command {
	return Command{
		Name: name, Group: GroupServer, Since: "0.1.0",
		Summary: summary, Complexity: "O(1)",
		Flags: FlagFast | FlagLoading, Keys: noKeys(), Category: CategoryConnection,
		Args: args, Reply: "error",
		Run: func(*Call) error { return errNoCluster },
	}
}
