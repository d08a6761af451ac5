package commands

import "github.com/rlserver/rlserver/resp"

// RESET
func resetCommand() Command {
	return Command{
		Name: "reset", Group: GroupConnection, Since: "0.1.0",
		Summary:    "Makes the connection as new: RESP2, no name, no transaction, not authenticated.",
		Complexity: "O(1)",
		Flags:      FlagFast | FlagLoading | FlagSubscriber | FlagNoAuth | FlagNoQueue, Keys: noKeys(), Category: CategoryConnection,
		Reply: "RESET",
		Run: func(c *Call) error {
			c.S.Abandon()
			c.setProto(2)
			c.S.Reply = resp.ReplyOn
			c.setName(nil)
			c.forgetChannels()
			c.tracking = tracking{}
			c.become(c.d.cfg.Users().Initial())
			c.W.Simple("RESET")
			return nil
		},
	}
}
