package commands

import (
	"slices"
	"strings"

	"github.com/rlserver/rlserver/resp"
)

// CLIENT KILL addr
//
// CLIENT KILL [ID n] [ADDR a] [LADDR a] [USER u] [TYPE t] [MAXAGE s] [SKIPME yes|no]
func runClientKill(c *Call) error {
	if len(c.Args) == 3 {
		addr := string(c.Args[2])
		if c.kill(func(i resp.ClientInfo) bool { return i.RemoteAddr == addr }) == 0 {
			return replyError("ERR No such client")
		}
		c.W.Simple("OK")
		return nil
	}
	words := c.Args[2:]
	if len(words)%2 != 0 {
		return errSyntax
	}
	var tests []func(resp.ClientInfo) bool
	skipMe := true
	for ; len(words) > 0; words = words[2:] {
		if equalFold(words[0], "SKIPME") {
			skipMe = equalFold(words[1], "YES")
			if !skipMe && !equalFold(words[1], "NO") {
				return errSyntax
			}
			continue
		}
		test, err := c.killTest(words[0], words[1])
		if err != nil {
			return err
		}
		tests = append(tests, test)
	}
	me := c.S.ID()
	c.W.Int(c.kill(func(i resp.ClientInfo) bool {
		if skipMe && i.ID == me {
			return false
		}
		return !slices.ContainsFunc(tests, func(test func(resp.ClientInfo) bool) bool { return !test(i) })
	}))
	return nil
}

// killTest is what one option asks of a connection.
func (c *Call) killTest(option, word []byte) (func(resp.ClientInfo) bool, error) {
	value := string(word)
	switch strings.ToUpper(string(option)) {
	case "ID":
		id, ok := parseInt(word)
		if !ok || id < 1 {
			return nil, replyError("ERR client-id should be greater than 0")
		}
		return func(i resp.ClientInfo) bool { return i.ID == id }, nil
	case "ADDR":
		return func(i resp.ClientInfo) bool { return i.RemoteAddr == value }, nil
	case "LADDR":
		return func(i resp.ClientInfo) bool { return i.LocalAddr == value }, nil
	case "USER":
		if !slices.Contains(c.d.cfg.Users().Names(), value) {
			return nil, replyError("ERR No such user '" + clean(word, 128) + "'")
		}
		return func(i resp.ClientInfo) bool { return i.User == value }, nil
	case "TYPE":
		return clientType(word)
	case "MAXAGE":
		age, ok := parseInt(word)
		if !ok {
			return nil, replyError("ERR maxage is not an integer or out of range")
		}
		if age < 1 {
			return nil, replyError("ERR maxage should be greater than 0")
		}
		return func(i resp.ClientInfo) bool { return (c.Now-i.CreatedAt)/second >= age }, nil
	}
	return nil, errSyntax
}

// kill cuts the connections that match and says how many. The one that asks
// still gets its answer.
func (c *Call) kill(match func(resp.ClientInfo) bool) int64 {
	me := c.S.ID()
	n := int64(c.d.cfg.Server.Kill(func(i resp.ClientInfo) bool { return i.ID != me && match(i) }))
	if match(c.S.Info()) {
		c.S.Close()
		n++
	}
	return n
}
