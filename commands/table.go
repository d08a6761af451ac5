package commands

import "slices"

// Table returns every command, a record each, in the order of the documents.
func Table() []Command {
	return slices.Concat([]Command{
		allowCommand(),
		checkCommand(),
		throttleCommand(),
		refundCommand(),
		resetKeyCommand(),
		inspectCommand(),
		explainCommand(),
		topCommand(),
		helpCommand(),

		policyDelCommand(),
		policyGetCommand(),
		policyListCommand(),
		policySetCommand(),

		clusterStatusCommand(),
		nodeListCommand(),
		slotListCommand(),
		slotMoveCommand(),
	}, nodeChangeCommands(), []Command{
		authCommand(),
		clientCommand(),
		discardCommand(),
		echoCommand(),
		execCommand(),
		helloCommand(),
		multiCommand(),
		pingCommand(),
		quitCommand(),
		resetCommand(),
		selectCommand(),
		unwatchCommand(),
		watchCommand(),

		dbsizeCommand(),
		delCommand(),
		existsCommand(),
		expiretimeCommand(),
		flushCommand(),
		getCommand(),
		memoryCommand(),
		objectCommand(),
		pexpiretimeCommand(),
		pttlCommand(),
		scanCommand(),
		ttlCommand(),
		typeCommand(),

		aclCommand(),
		askingCommand(),
		clusterCommand(),
		commandCommand(),
		configCommand(),
		infoCommand(),
		latencyCommand(),
		moduleCommand(),
		readonlyCommand(),
		readwriteCommand(),
		roleCommand(),
		saveCommand(),
		shutdownCommand(),
		slowlogCommand(),
		timeCommand(),
		waitCommand(),
	}, pubsubCommands())
}
