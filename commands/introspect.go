package commands

import (
	"bytes"
	"slices"
	"strings"
)

// COMMAND and its subcommands: the table, told in Redis' shapes.
func commandCommand() Command {
	sub := func(name, summary, reply string, run func(*Call) error, args ...Arg) Command {
		return Command{
			Name: name, Since: "0.1.0", Summary: summary, Complexity: "O(n) in the commands named",
			Flags: FlagLoading, Keys: noKeys(), Category: CategoryConnection, Args: args, Reply: reply, Run: run,
		}
	}
	names := Arg{Name: "command-name", Type: TypeString, Optional: true, Multiple: true}
	call := []Arg{
		{Name: "command", Type: TypeString},
		{Name: "arg", Type: TypeString, Multiple: true},
	}
	return withHelp(Command{
		Name: "command", Group: GroupServer, Since: "0.1.0",
		Summary: "Describes every command.", Complexity: "O(n) in the commands",
		Flags: FlagLoading, Keys: noKeys(), Category: CategoryConnection,
		Reply: "array of commands, 10 elements each",
		Run: func(c *Call) error {
			if len(c.Args) > 1 {
				return unknownSubcommand(c.entry, c.Args[1])
			}
			c.describe(c.d.listed())
			return nil
		},
		Sub: []Command{
			sub("count", "Counts the commands.", "integer", func(c *Call) error {
				c.W.Int(int64(len(c.d.byName)))
				return nil
			}),
			sub("info", "Describes commands.", "array, null for an unknown one", runCommandInfo, names),
			sub("docs", "Explains commands.", "map of maps", runCommandDocs, names),
			sub("list", "Names the commands and subcommands.", "array", runCommandList,
				Arg{Name: "MODULE name|ACLCAT category|PATTERN pattern", Type: TypeString, Token: "FILTERBY", Optional: true}),
			sub("getkeys", "Finds the keys of a call.", "array", func(c *Call) error { return runGetKeys(c, false) }, call...),
			sub("getkeysandflags", "Finds the keys of a call, and what it does with them.", "array of [key, flags]",
				func(c *Call) error { return runGetKeys(c, true) }, call...),
		},
	})
}

// moduleName is what this server's own commands are listed under, since to
// clients they are those of a module in Redis.
const moduleName = "rlserver"

// listed is every command and alias, in the order of names.
func (d *Dispatcher) listed() []*entry {
	all := make([]*entry, 0, len(d.byName))
	for _, e := range d.byName {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *entry) int { return strings.Compare(a.full, b.full) })
	return all
}

// chosen is the commands that the arguments from the third on name, all if
// there are none; nil for an unknown one.
func (c *Call) chosen() []*entry {
	if len(c.Args) == 2 {
		return c.d.listed()
	}
	picked := make([]*entry, 0, len(c.Args)-2)
	for _, arg := range c.Args[2:] {
		container, sub, isSub := bytes.Cut(arg, []byte{'|'})
		e := lookup(c.d.byName, container)
		if e != nil && isSub {
			e = lookup(e.sub, sub)
		}
		picked = append(picked, e)
	}
	return picked
}

func runCommandInfo(c *Call) error {
	c.describe(c.chosen())
	return nil
}

func (c *Call) describe(all []*entry) {
	c.W.Array(len(all))
	for _, e := range all {
		if e == nil {
			c.W.Null()
			continue
		}
		c.describeOne(e)
	}
}

// describeOne writes the 10 elements of COMMAND.
func (c *Call) describeOne(e *entry) {
	w := c.W
	w.Array(10)
	w.BulkString(e.full)
	w.Int(int64(e.arity))
	flags := e.flags()
	w.Set(len(flags))
	for _, f := range flags {
		w.Simple(f)
	}
	w.Int(int64(e.Keys.First))
	w.Int(int64(e.Keys.Last))
	w.Int(int64(e.Keys.Step))
	categories := e.categories()
	w.Set(len(categories))
	for _, category := range categories {
		w.Simple(category)
	}
	w.Set(0) // tips
	if e.Keys.First == 0 {
		w.Set(0)
	} else {
		w.Set(1)
		c.keySpec(e)
	}
	w.Array(len(e.Sub))
	for i := range e.Sub {
		c.describeOne(e.sub[e.Sub[i].Name])
	}
}

// keySpec writes where the keys are, as a range from an index.
func (c *Call) keySpec(e *entry) {
	w := c.W
	last := e.Keys.Last
	if last > 0 {
		last -= e.Keys.First
	}
	w.Map(3)
	w.BulkString("flags")
	access := e.keyAccess()
	w.Set(len(access))
	for _, a := range access {
		w.Simple(a)
	}
	w.BulkString("begin_search")
	w.Map(2)
	w.BulkString("type")
	w.BulkString("index")
	w.BulkString("spec")
	w.Map(1)
	w.BulkString("index")
	w.Int(int64(e.Keys.First))
	w.BulkString("find_keys")
	w.Map(2)
	w.BulkString("type")
	w.BulkString("range")
	w.BulkString("spec")
	w.Map(3)
	w.BulkString("lastkey")
	w.Int(int64(last))
	w.BulkString("keystep")
	w.Int(int64(e.Keys.Step))
	w.BulkString("limit")
	w.Int(0)
}

// categories are the command's own, and Redis' that follow from its flags.
func (e *entry) categories() []string {
	all := []string{"@" + string(e.Category)}
	if e.Flags&FlagWrite != 0 {
		all = append(all, "@write")
	}
	if e.Flags&FlagReadOnly != 0 && e.Category != CategoryRead {
		all = append(all, "@read")
	}
	if e.Flags&FlagFast != 0 {
		all = append(all, "@fast")
	} else {
		all = append(all, "@slow")
	}
	return all
}

// flags are the record's in Redis' words. A container has none.
func (e *entry) flags() []string {
	if e.Run == nil {
		return nil
	}
	flags := e.Flags.names()
	if e.group == GroupPubSub {
		flags = append(flags, "pubsub")
	}
	return flags
}

// keyAccess is what the command does with its keys, in Redis' words.
func (e *entry) keyAccess() []string {
	switch {
	case e.Flags&FlagDelete != 0:
		return []string{"RM", "delete"}
	case e.Flags&FlagWrite != 0:
		return []string{"RW", "access", "update"}
	}
	return []string{"RO", "access"}
}

// COMMAND LIST [FILTERBY PATTERN pattern | MODULE name | ACLCAT category]
func runCommandList(c *Call) error {
	keep := func(*entry) bool { return true }
	switch {
	case len(c.Args) == 2:
	case len(c.Args) == 5 && equalFold(c.Args[2], "FILTERBY"):
		value := strings.ToLower(string(c.Args[4]))
		switch strings.ToUpper(string(c.Args[3])) {
		case "PATTERN":
			pattern, err := compileGlob(value)
			if err != nil {
				return err
			}
			keep = func(e *entry) bool { return pattern.matches([]byte(e.full)) }
		case "MODULE":
			keep = func(e *entry) bool { return value == moduleName && e.group.own() }
		case "ACLCAT":
			keep = func(e *entry) bool { return slices.Contains(e.categories(), "@"+value) }
		default:
			return errSyntax
		}
	default:
		return errSyntax
	}
	var names []string
	for _, e := range c.d.listed() {
		if keep(e) {
			names = append(names, e.full)
		}
		for i := range e.Sub {
			if sub := e.sub[e.Sub[i].Name]; keep(sub) {
				names = append(names, sub.full)
			}
		}
	}
	c.lines(names)
	return nil
}

func runGetKeys(c *Call, withFlags bool) error {
	words := c.Args[2:]
	e, err := c.d.find(words)
	switch {
	case err != nil:
		return replyError("ERR Invalid command specified")
	case e.Keys.First == 0:
		return replyError("ERR The command has no key arguments")
	case !arityFits(e.arity, len(words)):
		return replyError("ERR Invalid number of arguments specified for command")
	}
	keys := e.Keys.of(words)
	c.W.Array(len(keys))
	for _, key := range keys {
		if withFlags {
			c.W.Array(2)
		}
		c.W.Bulk(key)
		if withFlags {
			access := e.keyAccess()
			c.W.Set(len(access))
			for _, a := range access {
				c.W.Simple(a)
			}
		}
	}
	return nil
}

// withHelp gives a container the subcommand HELP, made from the others.
func withHelp(c Command) Command {
	prefix := strings.ToUpper(c.Name) + " "
	lines := []string{prefix + "<subcommand> [<arg> [value] [opt] ...]. Subcommands are:"}
	for i := range c.Sub {
		lines = append(lines, strings.TrimPrefix(c.Sub[i].syntax(prefix), prefix), "    "+c.Sub[i].Summary)
	}
	lines = append(lines, "HELP", "    Print this help.")
	c.Sub = append(c.Sub, Command{
		Name: "help", Since: "0.1.0", Summary: "Lists the subcommands.", Complexity: "O(1)",
		Flags: FlagLoading, Keys: noKeys(), Category: CategoryConnection, Reply: "array of lines",
		Run: func(c *Call) error {
			c.W.Array(len(lines))
			for _, line := range lines {
				c.W.Simple(line)
			}
			return nil
		},
	})
	return c
}
