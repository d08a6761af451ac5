package commands

import "slices"

// SUBSCRIBE, UNSUBSCRIBE, PSUBSCRIBE, PUNSUBSCRIBE, PUBLISH, PUBSUB
//
// Nothing is ever published here. Some clients open a second connection that
// subscribes, and treat a refusal as a broken server; they get their
// confirmations.

// maxChannels bounds what a connection that subscribes costs.
const maxChannels = 64

func pubsubCommands() []Command {
	channels := []Arg{{Name: "channel", Type: TypeString, Multiple: true}}
	some := []Arg{{Name: "channel", Type: TypeString, Optional: true, Multiple: true}}
	one := func(name, summary, reply string, args []Arg, run func(*Call) error) Command {
		return Command{
			Name: name, Group: GroupServer, Since: "0.1.0",
			Summary: summary, Complexity: "O(n) in the channels named",
			Flags: FlagLoading, Keys: noKeys(), Category: CategoryConnection, Args: args, Reply: reply, Run: run,
		}
	}
	return []Command{
		one("subscribe", "Confirms; nothing is ever published.", "a confirmation for each channel", channels,
			func(c *Call) error { return c.subscribe("subscribe") }),
		one("psubscribe", "Confirms; nothing is ever published.", "a confirmation for each pattern", channels,
			func(c *Call) error { return c.subscribe("psubscribe") }),
		one("unsubscribe", "Confirms.", "a confirmation for each channel", some,
			func(c *Call) error { return c.unsubscribe("unsubscribe") }),
		one("punsubscribe", "Confirms.", "a confirmation for each pattern", some,
			func(c *Call) error { return c.unsubscribe("punsubscribe") }),
		one("publish", "Answers 0: nobody receives anything.", "integer",
			[]Arg{{Name: "channel", Type: TypeString}, {Name: "message", Type: TypeString}},
			func(c *Call) error { c.W.Int(0); return nil }),
		withHelp(Command{
			Name: "pubsub", Group: GroupServer, Since: "0.1.0",
			Summary: "Answers that there are no subscribers.", Complexity: "O(n) in the channels named",
			Flags: FlagLoading, Keys: noKeys(), Category: CategoryConnection,
			Sub: []Command{
				one("channels", "Lists channels with subscribers: none.", "empty array",
					[]Arg{{Name: "pattern", Type: TypePattern, Optional: true}}, func(c *Call) error { c.W.Array(0); return nil }),
				one("numpat", "Answers 0.", "integer", nil, func(c *Call) error { c.W.Int(0); return nil }),
				one("numsub", "Answers 0 for each channel.", "array", some, runNumSub),
				one("shardnumsub", "Answers 0 for each channel.", "array", some, runNumSub),
			},
		}),
	}
}

// channelID keeps the channels of SUBSCRIBE and the patterns of PSUBSCRIBE apart.
func channelID(command string, name []byte) string {
	if command[0] == 'p' {
		return "p" + string(name)
	}
	return "c" + string(name)
}

func (c *Call) subscribe(kind string) error {
	if len(c.channels)+len(c.Args)-1 > maxChannels {
		return errorf("a connection may have at most %d subscriptions", maxChannels)
	}
	for _, name := range c.Args[1:] {
		if id := channelID(kind, name); !slices.Contains(c.channels, id) {
			c.channels = append(c.channels, id)
		}
		c.confirm(kind, name)
	}
	return nil
}

func (c *Call) unsubscribe(kind string) error {
	names := c.Args[1:]
	if len(names) == 0 {
		prefix := channelID("un"+kind[:1], nil)
		if kind[0] == 'p' {
			prefix = channelID(kind, nil)
		}
		for _, id := range c.channels {
			if id[:1] == prefix {
				names = append(names, []byte(id[1:]))
			}
		}
	}
	for _, name := range names {
		id := channelID(kind, name)
		c.channels = slices.DeleteFunc(c.channels, func(have string) bool { return have == id })
		c.confirm(kind, name)
	}
	if len(names) == 0 {
		c.W.Push(3)
		c.W.BulkString(kind)
		c.W.Null()
		c.W.Int(int64(len(c.channels)))
	}
	return nil
}

func (c *Call) confirm(kind string, name []byte) {
	c.W.Push(3)
	c.W.BulkString(kind)
	c.W.Bulk(name)
	c.W.Int(int64(len(c.channels)))
}

func runNumSub(c *Call) error {
	names := c.Args[2:]
	c.W.Array(2 * len(names))
	for _, name := range names {
		c.W.Bulk(name)
		c.W.Int(0)
	}
	return nil
}
