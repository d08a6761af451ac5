package commands

import "strings"

// ACL WHOAMI | LIST | USERS | CAT
func aclCommand() Command {
	sub := func(name, summary, reply string, category Category, run func(*Call) error, args ...Arg) Command {
		flags := FlagLoading
		if category == CategoryAdmin {
			flags |= FlagAdmin
		}
		return Command{
			Name: name, Since: "0.1.0", Summary: summary, Complexity: "O(n) in the users",
			Flags: flags, Keys: noKeys(), Category: category, Args: args, Reply: reply, Run: run,
		}
	}
	return withHelp(Command{
		Name: "acl", Group: GroupServer, Since: "0.1.0",
		Summary: "Tells who may do what.", Complexity: "O(n) in the users",
		Flags: FlagLoading, Keys: noKeys(), Category: CategoryConnection,
		Sub: []Command{
			sub("whoami", "Names the connection's user.", "bulk string", CategoryConnection, func(c *Call) error {
				c.W.BulkString(c.user.Name)
				return nil
			}),
			sub("list", "Lists the users and their rights, without secrets.", "array of lines", CategoryAdmin, func(c *Call) error {
				c.lines(c.d.cfg.Users().List())
				return nil
			}),
			sub("users", "Names the users.", "array", CategoryAdmin, func(c *Call) error {
				c.lines(c.d.cfg.Users().Names())
				return nil
			}),
			sub("cat", "Lists the categories, or the commands of one.", "array", CategoryConnection, runACLCat,
				Arg{Name: "category", Type: TypeString, Optional: true}),
		},
	})
}

func runACLCat(c *Call) error {
	if len(c.Args) > 3 {
		return c.subcommandSyntax()
	}
	if len(c.Args) == 2 {
		c.lines([]string{string(CategoryConnection), string(CategoryDecide), string(CategoryRead), string(CategoryAdmin)})
		return nil
	}
	category := Category(strings.ToLower(string(c.Args[2])))
	var names []string
	for _, e := range c.d.entries {
		if e.Category == category {
			names = append(names, e.full)
		}
	}
	if len(names) == 0 {
		return replyError("ERR Unknown category '" + clean(c.Args[2], 128) + "'")
	}
	c.lines(names)
	return nil
}
