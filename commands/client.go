package commands

import (
	"strings"

	"github.com/rlserver/rlserver/resp"
)

// CLIENT and its subcommands.
func clientCommand() Command {
	const one, all = "O(1)", "O(n) in the connections"
	sub := func(name, summary, complexity, reply string, run func(*Call) error, args ...Arg) Command {
		return Command{
			Name: name, Since: "0.1.0", Summary: summary, Complexity: complexity,
			Flags: FlagLoading, Keys: noKeys(), Category: CategoryConnection, Args: args, Reply: reply, Run: run,
		}
	}
	admin := func(c Command) Command {
		c.Flags |= FlagAdmin
		c.Category = CategoryAdmin
		return c
	}
	unpaused := func(c Command) Command {
		c.Flags |= FlagUnpaused
		return c
	}
	onOff := Arg{Name: "on", Type: TypeOneOf, Choices: []string{"ON", "OFF"}}
	words := Arg{Name: "option", Type: TypeString, Optional: true, Multiple: true}
	return withHelp(Command{
		Name: "client", Group: GroupConnection, Since: "0.1.0",
		Summary: "Describes and steers connections.", Complexity: "O(1), LIST and KILL " + all,
		Flags: FlagLoading, Keys: noKeys(), Category: CategoryConnection,
		Sub: []Command{
			sub("setname", "Names the connection; an empty name unsets it.", one, "OK", runClientSetName,
				Arg{Name: "name", Type: TypeString}),
			sub("getname", "Tells the connection's name.", one, "bulk string, or null", runClientGetName),
			sub("setinfo", "Tells the client library's name or version.", one, "OK", runClientSetInfo,
				Arg{Name: "attribute", Type: TypeOneOf, Choices: []string{"LIB-NAME", "LIB-VER"}}, Arg{Name: "value", Type: TypeString}),
			sub("id", "Tells the connection's number.", one, "integer", func(c *Call) error { c.W.Int(c.S.ID()); return nil }),
			sub("info", "Describes this connection.", one, "a line", runClientInfo),
			admin(sub("list", "Describes all connections, those of a type, or those with a number.", all, "a line each", runClientList,
				Arg{Name: "type", Type: TypeOneOf, Token: "TYPE", Choices: []string{"NORMAL", "MASTER", "REPLICA", "PUBSUB"}, Optional: true},
				Arg{Name: "id", Type: TypeInteger, Token: "ID", Optional: true, Multiple: true})),
			admin(sub("kill", "Cuts the connection of an address, or those that match ID n, ADDR a, LADDR a, USER u, TYPE t and MAXAGE seconds; this one only with SKIPME no.",
				all, "OK with an address alone, else how many", runClientKill, Arg{Name: "filter", Type: TypeString, Multiple: true})),
			admin(sub("pause", "Makes the commands of all clients wait for so many milliseconds, with WRITE those that may change a bucket.", one, "OK", runClientPause,
				Arg{Name: "timeout", Type: TypeInteger},
				Arg{Name: "mode", Type: TypeOneOf, Choices: []string{"WRITE", "ALL"}, Optional: true})),
			unpaused(admin(sub("unpause", "Ends a pause; it does not wait for it itself.", all, "OK", runClientUnpause))),
			admin(sub("unblock", "Answers 0: no client is blocked.", one, "integer", runClientUnblock,
				Arg{Name: "client-id", Type: TypeInteger},
				Arg{Name: "reason", Type: TypeOneOf, Choices: []string{"TIMEOUT", "ERROR"}, Optional: true})),
			sub("reply", "Says which replies are sent.", one, "OK, or nothing", runClientReply,
				Arg{Name: "mode", Type: TypeOneOf, Choices: []string{"ON", "OFF", "SKIP"}}),
			sub("tracking", "Accepted for clients that insist on it, with BCAST, OPTIN, OPTOUT and NOLOOP; nothing is ever invalidated.", one, "OK",
				runClientTracking, onOff, words),
			sub("trackinginfo", "Tells what TRACKING was told.", one, "map", runClientTrackingInfo),
			sub("caching", "Accepted with OPTIN or OPTOUT.", one, "OK", runClientCaching,
				Arg{Name: "mode", Type: TypeOneOf, Choices: []string{"YES", "NO"}}),
			sub("getredir", "Tells where invalidations go: nowhere else.", one, "0, or -1 without TRACKING",
				func(c *Call) error { c.W.Int(c.tracking.redirect()); return nil }),
			sub("no-evict", "Accepted: no connection is evicted.", one, "OK", runOnOff, onOff),
			sub("no-touch", "Accepted: looking never touches a key.", one, "OK", runOnOff, onOff),
		},
	})
}

func runClientSetName(c *Call) error {
	if err := checkName(c.Args[2]); err != nil {
		return err
	}
	c.setName(c.Args[2])
	c.W.Simple("OK")
	return nil
}

// maxName bounds, in bytes, what a connection can make the server remember.
const maxName = 1024

func checkName(name []byte) error {
	switch {
	case !printable(name):
		return errClientName
	case len(name) > maxName:
		return errNameTooLong
	}
	return nil
}

// printable says whether there are only printable ASCII bytes, and no spaces.
func printable(word []byte) bool {
	for _, c := range word {
		if c < '!' || c > '~' {
			return false
		}
	}
	return true
}

func (c *Call) setName(name []byte) {
	c.S.Describe(func(info *resp.ClientInfo) { info.Name = string(name) })
}

func runClientGetName(c *Call) error {
	if name := c.S.Info().Name; name != "" {
		c.W.BulkString(name)
	} else {
		c.W.Null()
	}
	return nil
}

func runClientSetInfo(c *Call) error {
	value := string(c.Args[3])
	switch {
	case !equalFold(c.Args[2], "LIB-NAME") && !equalFold(c.Args[2], "LIB-VER"):
		return replyError("ERR Unrecognized option '" + clean(c.Args[2], 128) + "'")
	case !printable(c.Args[3]):
		return replyError("ERR " + strings.ToLower(string(c.Args[2])) + " cannot contain spaces, newlines or special characters.")
	case len(value) > maxName:
		return errNameTooLong
	}
	c.S.Describe(func(info *resp.ClientInfo) {
		if equalFold(c.Args[2], "LIB-NAME") {
			info.LibName = value
		} else {
			info.LibVer = value
		}
	})
	c.W.Simple("OK")
	return nil
}

func runClientReply(c *Call) error {
	switch strings.ToUpper(string(c.Args[2])) {
	case "ON":
		c.S.Unmute()
		c.W.Simple("OK")
	case "OFF":
		c.S.Reply = resp.ReplyOff
	case "SKIP":
		if c.S.Reply != resp.ReplyOff {
			c.S.Reply = resp.ReplySkip
		}
	default:
		return errSyntax
	}
	return nil
}

func runOnOff(c *Call) error {
	if !equalFold(c.Args[2], "ON") && !equalFold(c.Args[2], "OFF") {
		return errSyntax
	}
	c.W.Simple("OK")
	return nil
}
