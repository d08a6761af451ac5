package commands

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/rlserver/rlserver/resp"
)

// CLIENT and its subcommands.
func clientCommand() Command {
	sub := func(name, summary, reply string, category Category, run func(*Call) error, args ...Arg) Command {
		flags := FlagLoading
		if category == CategoryAdmin {
			flags |= FlagAdmin
		}
		return Command{
			Name: name, Since: "0.1.0", Summary: summary, Complexity: "O(1), LIST and KILL O(n) in the connections",
			Flags: flags, Keys: noKeys(), Category: category, Args: args, Reply: reply, Run: run,
		}
	}
	free, admin := CategoryConnection, CategoryAdmin
	onOff := Arg{Name: "on", Type: TypeOneOf, Choices: []string{"ON", "OFF"}}
	words := Arg{Name: "option", Type: TypeString, Optional: true, Multiple: true}
	return withHelp(Command{
		Name: "client", Group: GroupConnection, Since: "0.1.0",
		Summary: "Describes and steers connections.", Complexity: "O(1), LIST and KILL O(n) in the connections",
		Flags: FlagLoading, Keys: noKeys(), Category: free,
		Sub: []Command{
			sub("setname", "Names the connection; an empty name unsets it.", "OK", free, runClientSetName, Arg{Name: "name", Type: TypeString}),
			sub("getname", "Tells the connection's name.", "bulk string, or null", free, runClientGetName),
			sub("setinfo", "Tells the client library's name or version.", "OK", free, runClientSetInfo,
				Arg{Name: "attribute", Type: TypeOneOf, Choices: []string{"LIB-NAME", "LIB-VER"}}, Arg{Name: "value", Type: TypeString}),
			sub("id", "Tells the connection's number.", "integer", free, func(c *Call) error { c.W.Int(c.S.ID()); return nil }),
			sub("info", "Describes this connection.", "a line", free, runClientInfo),
			sub("list", "Describes all connections.", "a line each", CategoryAdmin, runClientList,
				Arg{Name: "type", Type: TypeString, Token: "TYPE", Optional: true},
				Arg{Name: "id", Type: TypeInteger, Token: "ID", Optional: true, Multiple: true}),
			sub("kill", "Cuts connections.", "OK with an address alone, else how many", admin, runClientKill,
				Arg{Name: "addr", Type: TypeString, Optional: true}, words),
			sub("reply", "Says which replies are sent.", "OK, or nothing", free, runClientReply,
				Arg{Name: "mode", Type: TypeOneOf, Choices: []string{"ON", "OFF", "SKIP"}}),
			sub("tracking", "Accepted for clients that insist on it; no key here is cached by clients, so nothing is ever sent.", "OK", free, runClientTracking, onOff, words),
			sub("trackinginfo", "Describes tracking.", "map", free, runClientTrackingInfo),
			sub("caching", "Accepted with tracking.", "OK", free, runClientCaching, Arg{Name: "mode", Type: TypeOneOf, Choices: []string{"YES", "NO"}}),
			sub("getredir", "Tells where invalidations go: nowhere.", "integer", free, runClientGetRedir),
			sub("no-evict", "Accepted: connections are not evicted.", "OK", free, runOnOff, onOff),
			sub("no-touch", "Accepted: looking never touches a key.", "OK", free, runOnOff, onOff),
		},
	})
}

func runClientSetName(c *Call) error {
	if !validName(c.Args[2]) {
		return errClientName
	}
	c.setName(c.Args[2])
	c.W.Simple("OK")
	return nil
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
	case !validName(c.Args[3]):
		return replyError("ERR " + strings.ToLower(string(c.Args[2])) + " cannot contain spaces, newlines or special characters.")
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

func runClientInfo(c *Call) error {
	me := c.S.Info()
	me.LastAt = c.Now
	c.W.Verbatim(c.clientLine(me) + "\n")
	return nil
}

func runClientList(c *Call) error {
	infos := c.d.cfg.Server.Clients()
	r := c.reader()
	r.take("list")
	for r.more() {
		switch r.option("TYPE", "ID") {
		case "TYPE":
			kind := strings.ToLower(string(r.take("TYPE")))
			switch kind {
			case "normal":
			case "master", "replica", "slave", "pubsub":
				infos = nil
			default:
				return replyError("ERR Unknown client type '" + clean([]byte(kind), 128) + "'")
			}
		case "ID":
			wanted := map[int64]bool{}
			for r.more() {
				wanted[r.integer("ID", 1, 1<<62)] = true
			}
			infos = slices.DeleteFunc(infos, func(i resp.ClientInfo) bool { return !wanted[i.ID] })
		}
	}
	if err := r.end(); err != nil {
		return err
	}
	slices.SortFunc(infos, func(a, b resp.ClientInfo) int { return int(a.ID - b.ID) })
	var lines strings.Builder
	for _, info := range infos {
		lines.WriteString(c.clientLine(info) + "\n")
	}
	c.W.Verbatim(lines.String())
	return nil
}

// clientLine is one connection, in the fields clients and tools look at.
func (c *Call) clientLine(i resp.ClientInfo) string {
	seconds := func(since int64) int64 { return max(c.Now-since, 0) / second }
	return fmt.Sprintf("id=%d addr=%s laddr=%s fd=-1 name=%s age=%d idle=%d flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 "+
		"qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r cmd=NULL user=%s redir=-1 resp=%d lib-name=%s lib-ver=%s",
		i.ID, i.RemoteAddr, i.LocalAddr, i.Name, seconds(i.CreatedAt), seconds(i.LastAt), i.User, i.Proto, i.LibName, i.LibVer)
}

// CLIENT KILL addr | ID n | ADDR a | LADDR a | USER u | TYPE t | SKIPME yes|no ...
func runClientKill(c *Call) error {
	if len(c.Args) == 3 {
		addr := string(c.Args[2])
		if c.d.cfg.Server.Kill(func(i resp.ClientInfo) bool { return i.RemoteAddr == addr }) == 0 {
			return replyError("ERR No such client")
		}
		c.W.Simple("OK")
		return nil
	}
	if len(c.Args)%2 != 0 {
		return errSyntax
	}
	var tests []func(resp.ClientInfo) bool
	skipMe := true
	for i := 2; i < len(c.Args); i += 2 {
		value := string(c.Args[i+1])
		switch strings.ToUpper(string(c.Args[i])) {
		case "ID":
			id, ok := parseInt(c.Args[i+1])
			if !ok || id < 1 {
				return replyError("ERR client-id should be greater than 0")
			}
			tests = append(tests, func(i resp.ClientInfo) bool { return i.ID == id })
		case "ADDR":
			tests = append(tests, func(i resp.ClientInfo) bool { return i.RemoteAddr == value })
		case "LADDR":
			tests = append(tests, func(i resp.ClientInfo) bool { return i.LocalAddr == value })
		case "USER":
			tests = append(tests, func(i resp.ClientInfo) bool { return i.User == value })
		case "TYPE":
			normal := strings.EqualFold(value, "normal")
			tests = append(tests, func(resp.ClientInfo) bool { return normal })
		case "SKIPME":
			switch strings.ToLower(value) {
			case "yes":
				skipMe = true
			case "no":
				skipMe = false
			default:
				return errSyntax
			}
		default:
			return errSyntax
		}
	}
	me := c.S.ID()
	n := c.d.cfg.Server.Kill(func(i resp.ClientInfo) bool {
		if skipMe && i.ID == me {
			return false
		}
		return !slices.ContainsFunc(tests, func(test func(resp.ClientInfo) bool) bool { return !test(i) })
	})
	c.W.Int(int64(n))
	return nil
}

func runClientReply(c *Call) error {
	switch strings.ToUpper(string(c.Args[2])) {
	case "ON":
		c.S.Reply = resp.ReplyOn
		c.W.Simple("OK")
	case "OFF":
		c.S.Reply = resp.ReplyOff
	case "SKIP":
		if c.S.Reply == resp.ReplyOn {
			c.S.Reply = resp.ReplySkip
		}
	default:
		return errSyntax
	}
	return nil
}

func runClientTracking(c *Call) error {
	switch strings.ToUpper(string(c.Args[2])) {
	case "ON":
		c.tracking = true
	case "OFF":
		c.tracking = false
	default:
		return errSyntax
	}
	c.W.Simple("OK")
	return nil
}

func runClientTrackingInfo(c *Call) error {
	w := c.W
	w.Map(3)
	w.BulkString("flags")
	w.Set(1)
	redirect := int64(-1)
	if c.tracking {
		w.BulkString("on")
		redirect = 0
	} else {
		w.BulkString("off")
	}
	w.BulkString("redirect")
	w.Int(redirect)
	w.BulkString("prefixes")
	w.Array(0)
	return nil
}

func runClientCaching(c *Call) error {
	switch {
	case !equalFold(c.Args[2], "YES") && !equalFold(c.Args[2], "NO"):
		return errSyntax
	case !c.tracking:
		return replyError("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled")
	}
	c.W.Simple("OK")
	return nil
}

func runClientGetRedir(c *Call) error {
	if c.tracking {
		c.W.Int(0)
	} else {
		c.W.Int(-1)
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

// port is the number in host:port, 0 if there is none.
func port(addr string) int64 {
	_, p, err := net.SplitHostPort(addr)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(p, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
