package commands

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlserver/rlserver/resp"
)

func runClientInfo(c *Call) error {
	me := c.S.Info()
	me.LastAt = c.Now
	c.W.Verbatim(c.clientLine(me) + "\n")
	return nil
}

// CLIENT LIST [TYPE type | ID id [id ...]]
func runClientList(c *Call) error {
	keep := func(resp.ClientInfo) bool { return true }
	switch words := c.Args[2:]; {
	case len(words) == 0:
	case len(words) == 2 && equalFold(words[0], "TYPE"):
		ofType, err := clientType(words[1])
		if err != nil {
			return err
		}
		keep = ofType
	case len(words) > 1 && equalFold(words[0], "ID"):
		wanted := make(map[int64]bool, len(words)-1)
		for _, word := range words[1:] {
			id, ok := parseInt(word)
			if !ok {
				return replyError("ERR Invalid client ID")
			}
			wanted[id] = true
		}
		keep = func(i resp.ClientInfo) bool { return wanted[i.ID] }
	default:
		return errSyntax
	}
	infos := slices.DeleteFunc(c.d.cfg.Server.Clients(), func(i resp.ClientInfo) bool { return !keep(i) })
	slices.SortFunc(infos, func(a, b resp.ClientInfo) int { return int(a.ID - b.ID) })
	var lines strings.Builder
	for _, info := range infos {
		lines.WriteString(c.clientLine(info) + "\n")
	}
	c.W.Verbatim(lines.String())
	return nil
}

// clientType is the test behind TYPE: nobody is a master or a replica here.
func clientType(word []byte) (func(resp.ClientInfo) bool, error) {
	switch strings.ToLower(string(word)) {
	case "normal":
		return func(i resp.ClientInfo) bool { return i.Channels+i.Patterns == 0 }, nil
	case "pubsub":
		return func(i resp.ClientInfo) bool { return i.Channels+i.Patterns > 0 }, nil
	case "master", "replica", "slave":
		return func(resp.ClientInfo) bool { return false }, nil
	}
	return nil, replyError("ERR Unknown client type '" + clean(word, 128) + "'")
}

// clientLine is one connection, in the fields clients and tools look at. What
// has no meaning here has the value it has in a Redis without it.
func (c *Call) clientLine(i resp.ClientInfo) string {
	seconds := func(since int64) int64 { return max(c.Now-since, 0) / second }
	flags := "N"
	if i.Channels+i.Patterns > 0 {
		flags = "P"
	}
	queued, last := -1, "NULL"
	if i.InMulti {
		queued = i.Queued
	}
	if i.Last != "" {
		last = i.Last
	}
	return fmt.Sprintf("id=%d addr=%s laddr=%s fd=-1 name=%s age=%d idle=%d flags=%s db=0 sub=%d psub=%d ssub=0 multi=%d "+
		"qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r cmd=%s user=%s redir=-1 resp=%d lib-name=%s lib-ver=%s",
		i.ID, i.RemoteAddr, i.LocalAddr, i.Name, seconds(i.CreatedAt), seconds(i.LastAt), flags, i.Channels, i.Patterns,
		queued, last, i.User, max(i.Proto, 2), i.LibName, i.LibVer)
}
