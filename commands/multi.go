package commands

// MULTI, EXEC, DISCARD, WATCH key [key ...], UNWATCH
//
// The commands of a transaction run in order, and while they do nobody else
// touches the slots of their keys: see Call.isolate.

func multiCommand() Command {
	return transactionCommand("multi", "Begins a transaction: what follows is queued until EXEC.", "OK",
		func(c *Call) error {
			if !c.S.InMulti() {
				c.slots, c.writes = nil, false
			}
			c.S.Multi(c.W)
			return nil
		})
}

func execCommand() Command {
	return transactionCommand("exec", "Runs the queued commands in order.", "array of their replies",
		func(c *Call) error { c.S.Exec(c.W); return nil })
}

func discardCommand() Command {
	return transactionCommand("discard", "Drops the queued commands.", "OK",
		func(c *Call) error { c.S.Discard(c.W); return nil })
}

func watchCommand() Command {
	cmd := transactionCommand("watch", "Accepted for clients that send it; a transaction here never fails for a watched key.", "OK",
		func(c *Call) error {
			if c.S.InMulti() {
				return replyError("ERR WATCH inside MULTI is not allowed")
			}
			c.W.Simple("OK")
			return nil
		})
	cmd.Keys = allKeys()
	cmd.Args = []Arg{{Name: "key", Type: TypeKey, Multiple: true}}
	return cmd
}

func unwatchCommand() Command {
	cmd := transactionCommand("unwatch", "Accepted for clients that send it.", "OK",
		func(c *Call) error { c.W.Simple("OK"); return nil })
	cmd.Flags &^= FlagNoQueue
	return cmd
}

func transactionCommand(name, summary, reply string, run func(*Call) error) Command {
	return Command{
		Name: name, Group: GroupTransactions, Since: "0.1.0",
		Summary: summary, Complexity: "O(1)",
		Flags: FlagFast | FlagLoading | FlagNoQueue, Keys: noKeys(), Category: CategoryConnection,
		Reply: reply, Run: run,
	}
}
