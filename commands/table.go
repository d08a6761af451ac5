package commands

// Table returns every command, a record each, in the order of the documents.
func Table() []Command {
	return []Command{
		allowCommand(),
		throttleCommand(),
		refundCommand(),
		resetKeyCommand(),
		inspectCommand(),
		topCommand(),
		helpCommand(),
		pingCommand(),
	}
}
