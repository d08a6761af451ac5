package commands

import (
	"slices"

	"github.com/rlserver/rlserver/resp"
)

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
			Name: name, Group: GroupPubSub, Since: "0.1.0",
			Summary: summary, Complexity: "O(n) in the channels named",
			Flags: FlagLoading, Keys: noKeys(), Category: CategoryConnection, Args: args, Reply: reply, Run: run,
		}
	}
	subscriber := func(c Command) Command {
		c.Flags |= FlagSubscriber
		return c
	}
	return []Command{
		subscriber(one("subscribe", "Confirms; nothing is ever published.", "a confirmation for each channel", channels,
			func(c *Call) error { return c.subscribe("subscribe") })),
		subscriber(one("psubscribe", "Confirms; nothing is ever published.", "a confirmation for each pattern", channels,
			func(c *Call) error { return c.subscribe("psubscribe") })),
		subscriber(one("unsubscribe", "Confirms.", "a confirmation for each channel", some,
			func(c *Call) error { return c.unsubscribe("unsubscribe") })),
		subscriber(one("punsubscribe", "Confirms.", "a confirmation for each pattern", some,
			func(c *Call) error { return c.unsubscribe("punsubscribe") })),
		one("publish", "Answers 0: nobody receives anything.", "integer",
			[]Arg{{Name: "channel", Type: TypeString}, {Name: "message", Type: TypeString}},
			func(c *Call) error { c.W.Int(0); return nil }),
		withHelp(Command{
			Name: "pubsub", Group: GroupPubSub, Since: "0.1.0",
			Summary: "Answers that there are no subscribers.", Complexity: "O(n) in the channels named",
			Flags: FlagLoading, Keys: noKeys(), Category: CategoryConnection,
			Sub: []Command{
				one("channels", "Lists channels with subscribers: none.", "empty array",
					[]Arg{{Name: "pattern", Type: TypePattern, Optional: true}}, runPubsubChannels),
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
	for _, name := range c.Args[1:] {
		if len(name) > maxName {
			return errorf("a channel's name has at most %d bytes, got %d", maxName, len(name))
		}
	}
	if len(c.channels)+len(c.Args)-1 > maxChannels {
		return errorf("a connection may have at most %d subscriptions", maxChannels)
	}
	for _, name := range c.Args[1:] {
		if id := channelID(kind, name); !slices.Contains(c.channels, id) {
			c.channels = append(c.channels, id)
		}
		c.confirm(kind, name)
	}
	c.describeChannels()
	return nil
}

func (c *Call) unsubscribe(kind string) error {
	names := c.Args[1:]
	if len(names) == 0 {
		names = c.subscribed(channelID(kind, nil))
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
	c.describeChannels()
	return nil
}

// subscribed lists the channels, or the patterns, by the letter of their ids.
func (c *Call) subscribed(letter string) (names [][]byte) {
	for _, id := range c.channels {
		if id[:1] == letter {
			names = append(names, []byte(id[1:]))
		}
	}
	return names
}

func (c *Call) forgetChannels() {
	if len(c.channels) > 0 {
		c.channels = nil
		c.describeChannels()
	}
}

func (c *Call) describeChannels() {
	patterns := len(c.subscribed("p"))
	c.S.Describe(func(info *resp.ClientInfo) {
		info.Channels, info.Patterns = len(c.channels)-patterns, patterns
	})
}

func (c *Call) confirm(kind string, name []byte) {
	c.W.Push(3)
	c.W.BulkString(kind)
	c.W.Bulk(name)
	c.W.Int(int64(len(c.channels)))
}

func runPubsubChannels(c *Call) error {
	if len(c.Args) > 3 {
		return c.subcommandSyntax()
	}
	c.W.Array(0)
	return nil
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

// notForSubscribers is Redis' text for what a subscriber may not send in RESP2.
func notForSubscribers(e *entry) error {
	return replyError("ERR Can't execute '" + e.full + "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context")
}
