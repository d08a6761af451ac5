package commands

import "github.com/rlserver/rlserver/resp"

// HELLO [protover [AUTH username password] [SETNAME clientname]]
func helloCommand() Command {
	return Command{
		Name: "hello", Group: GroupConnection, Since: "0.1.0",
		Summary:    "Switches the protocol, and optionally authenticates and names the connection.",
		Complexity: "O(1)",
		Flags:      FlagFast | FlagLoading | FlagNoAuth | FlagSecret, Keys: noKeys(), Category: CategoryConnection,
		Args: []Arg{
			{Name: "protover", Type: TypeInteger, Optional: true},
			{Name: "username password", Type: TypeString, Token: "AUTH", Optional: true},
			{Name: "clientname", Type: TypeString, Token: "SETNAME", Optional: true},
		},
		Reply: "map: server, version, proto, id, mode, role, modules",
		Run:   runHello,
	}
}

// RedisVersion is the Redis that clients are told they talk to: what they may
// expect of it is what is here.
const RedisVersion = "7.4.0"

func runHello(c *Call) error {
	version := int64(c.W.Proto())
	user, authenticated := c.user, false
	var name []byte
	if len(c.Args) > 1 {
		n, ok := parseInt(c.Args[1])
		if !ok {
			return replyError("ERR Protocol version is not an integer or out of range")
		}
		if n != 2 && n != 3 {
			return replyError("NOPROTO unsupported protocol version")
		}
		version = n
	}
	for i := 2; i < len(c.Args); {
		word, left := c.Args[i], len(c.Args)-i-1
		switch {
		case equalFold(word, "AUTH") && left >= 2:
			var err error
			if user, err = c.authenticate(c.Args[i+1], c.Args[i+2]); err != nil {
				return err
			}
			authenticated = true
			i += 3
		case equalFold(word, "SETNAME") && left >= 1:
			name = c.Args[i+1]
			if err := checkName(name); err != nil {
				return err
			}
			i += 2
		default:
			return replyError("ERR Syntax error in HELLO option '" + clean(word, 128) + "'")
		}
	}
	if user == nil {
		return errHelloNoAuth
	}
	if authenticated {
		c.become(user)
	}
	if name != nil {
		c.setName(name)
	}
	c.setProto(int(version))
	c.hello()
	return nil
}

// setProto switches the protocol, from the running command's reply on.
func (c *Call) setProto(version int) {
	c.S.SetProto(version)
	c.S.Describe(func(info *resp.ClientInfo) { info.Proto = version })
}

// mode is what clients call one node, or one of several.
func (d *Dispatcher) mode() string {
	if d.cfg.Sharing != nil {
		return "cluster"
	}
	return "standalone"
}

// hello writes the reply, in the new protocol.
func (c *Call) hello() {
	w := c.W
	w.Map(7)
	w.BulkString("server")
	w.BulkString("redis")
	w.BulkString("version")
	w.BulkString(RedisVersion)
	w.BulkString("proto")
	w.Int(int64(w.Proto()))
	w.BulkString("id")
	w.Int(c.S.ID())
	w.BulkString("mode")
	w.BulkString(c.d.mode())
	w.BulkString("role")
	w.BulkString("master")
	w.BulkString("modules")
	w.Array(0)
}
