package commands

// Small commands about the server itself.

func roleCommand() Command {
	return Command{
		Name: "role", Group: GroupServer, Since: "0.1.0",
		Summary: "Answers as a Redis master without replicas.", Complexity: "O(1)",
		Flags: FlagFast | FlagLoading, Keys: noKeys(), Category: CategoryConnection,
		Reply: "array: master, 0, empty array",
		Run: func(c *Call) error {
			c.W.Array(3)
			c.W.BulkString("master")
			c.W.Int(0)
			c.W.Array(0)
			return nil
		},
	}
}

func waitCommand() Command {
	return Command{
		Name: "wait", Group: GroupServer, Since: "0.1.0",
		Summary: "Answers 0: there are no replicas to wait for.", Complexity: "O(1)",
		Flags: FlagFast, Keys: noKeys(), Category: CategoryConnection,
		Args:  []Arg{{Name: "numreplicas", Type: TypeInteger}, {Name: "timeout", Type: TypeInteger}},
		Reply: "integer",
		Run: func(c *Call) error {
			_, ok := parseInt(c.Args[1])
			timeout, okTimeout := parseInt(c.Args[2])
			switch {
			case !ok:
				return errNotInteger
			case !okTimeout:
				return errTimeout
			case timeout < 0:
				return errTimeoutNegative
			}
			c.W.Int(0)
			return nil
		},
	}
}

func moduleCommand() Command {
	return withHelp(Command{
		Name: "module", Group: GroupServer, Since: "0.1.0",
		Summary: "Answers that no module is loaded.", Complexity: "O(1)",
		Flags: FlagAdmin, Keys: noKeys(), Category: CategoryRead,
		Sub: []Command{{
			Name: "list", Since: "0.1.0", Summary: "Lists loaded modules: none.", Complexity: "O(1)",
			Flags: FlagAdmin, Keys: noKeys(), Category: CategoryRead, Reply: "empty array",
			Run: func(c *Call) error {
				c.W.Array(0)
				return nil
			},
		}},
	})
}

func shutdownCommand() Command {
	return Command{
		Name: "shutdown", Group: GroupServer, Since: "0.1.0",
		Summary: "Drains and stops the server, as SIGTERM does.", Complexity: "O(1)",
		Flags: FlagAdmin | FlagLoading, Keys: noKeys(), Category: CategoryAdmin,
		Args: []Arg{
			{Name: "how", Type: TypeOneOf, Choices: []string{"NOSAVE", "SAVE"}, Optional: true},
			{Name: "now", Type: TypeToken, Token: "NOW", Optional: true},
			{Name: "force", Type: TypeToken, Token: "FORCE", Optional: true},
		},
		Reply: "none: the connection is closed",
		Help:  []string{"The words are accepted and change nothing: a stop is always a drain."},
		Run:   runShutdown,
	}
}

func runShutdown(c *Call) error {
	save, nosave := false, false
	for _, word := range c.Args[1:] {
		switch {
		case equalFold(word, "SAVE"):
			save = true
		case equalFold(word, "NOSAVE"):
			nosave = true
		case equalFold(word, "NOW"), equalFold(word, "FORCE"):
		default:
			return errSyntax
		}
	}
	if save && nosave {
		return errSyntax
	}
	c.d.cfg.Server.Shutdown()
	c.S.Close()
	return nil
}
