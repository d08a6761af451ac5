package commands

// Redis' generic commands, as far as they have a meaning here: a key exists
// while its bucket is not full, and lives until it would be.

func dbsizeCommand() Command {
	return Command{
		Name: "dbsize", Group: GroupGeneric, Since: "0.1.0",
		Summary:    "Counts the keys of this node; full ones that were not swept yet are among them.",
		Complexity: "O(1)",
		Flags:      FlagReadOnly | FlagFast, Keys: noKeys(), Category: CategoryRead,
		Reply: "integer",
		Run: func(c *Call) error {
			c.W.Int(c.d.cfg.Buckets.Len())
			return nil
		},
	}
}

func existsCommand() Command {
	return Command{
		Name: "exists", Group: GroupGeneric, Since: "0.1.0",
		Summary:    "Counts which of the keys have a bucket that is not full.",
		Complexity: "O(n) in the keys named",
		Flags:      FlagReadOnly | FlagFast, Keys: allKeys(), Category: CategoryRead,
		Args:  []Arg{{Name: "key", Type: TypeKey, Multiple: true}},
		Reply: "integer",
		Run: func(c *Call) error {
			return c.countKeys(func(key []byte) bool {
				_, found := c.keyed().FullIn(key, c.Now)
				return found
			})
		},
	}
}

func delCommand() Command {
	return Command{
		Name: "del", Aliases: []string{"unlink"}, Group: GroupGeneric, Since: "0.1.0",
		Summary:    "Makes keys as new, as RL.RESET does.",
		Complexity: "O(n) in the keys named",
		Flags:      FlagWrite | FlagDelete, Keys: allKeys(), Category: CategoryAdmin,
		Args:  []Arg{{Name: "key", Type: TypeKey, Multiple: true}},
		Reply: "integer: how many were known and not full",
		Run: func(c *Call) error {
			return c.countKeys(func(key []byte) bool { return c.keyed().Reset(key, c.Now) })
		},
	}
}

// countKeys answers for how many keys do is true. Keys are all checked before
// the first is touched.
func (c *Call) countKeys(do func(key []byte) bool) error {
	r := c.reader()
	elsewhere := false
	for r.more() {
		if key := r.key(); r.err == nil {
			err := c.serve(key)
			if _, is := away(err); is && len(c.Args) > 2 {
				elsewhere = true
			} else if err != nil {
				return err
			}
		}
	}
	if err := r.end(); err != nil {
		return err
	}
	if elsewhere {
		if err := c.moved(c.entry, c.Args); err != nil {
			return err
		}
		c.countAway(c.Args[1:], do)
		return nil
	}
	n := int64(0)
	for _, key := range c.Args[1:] {
		n += bit(do(key))
	}
	c.W.Int(n)
	return nil
}

func typeCommand() Command {
	return Command{
		Name: "type", Group: GroupGeneric, Since: "0.1.0",
		Summary:    "Says ratelimit for a key that has a bucket which is not full, else none.",
		Complexity: "O(log n) in the keys of one slot",
		Flags:      FlagReadOnly | FlagFast, Keys: oneKey(), Category: CategoryRead,
		Args:  []Arg{{Name: "key", Type: TypeKey}},
		Reply: "ratelimit or none",
		Run: func(c *Call) error {
			_, found, err := c.fullIn()
			if err != nil {
				return err
			}
			if found {
				c.W.Simple(typeName)
			} else {
				c.W.Simple("none")
			}
			return nil
		},
	}
}

// typeName is what TYPE calls a bucket.
const typeName = "ratelimit"

func ttlCommand() Command {
	return lifetimeCommand("ttl", "Tells in how many seconds, rounded up, the key will be full and so as new.",
		func(_ *Call, ns int64) int64 { return roundUp(ns, second) })
}

func pttlCommand() Command {
	return lifetimeCommand("pttl", "Tells in how many milliseconds, rounded up, the key will be full and so as new.",
		func(_ *Call, ns int64) int64 { return roundUp(ns, millisecond) })
}

func expiretimeCommand() Command {
	return fulltimeCommand("expiretime", "Tells at which Unix second, rounded up, the key will be full and so as new.", second)
}

func pexpiretimeCommand() Command {
	return fulltimeCommand("pexpiretime", "Tells at which Unix millisecond, rounded up, the key will be full and so as new.", millisecond)
}

func fulltimeCommand(name, summary string, unit int64) Command {
	return lifetimeCommand(name, summary, func(c *Call, ns int64) int64 { return roundUp(c.Now+ns, unit) })
}

func roundUp(ns, unit int64) int64 { return (ns-1)/unit + 1 }

func lifetimeCommand(name, summary string, show func(c *Call, ns int64) int64) Command {
	return Command{
		Name: name, Group: GroupGeneric, Since: "0.1.0",
		Summary:    summary,
		Complexity: "O(log n) in the keys of one slot",
		Flags:      FlagReadOnly | FlagFast, Keys: oneKey(), Category: CategoryRead,
		Args:  []Arg{{Name: "key", Type: TypeKey}},
		Reply: "integer; -2 for an unknown or full key",
		Run: func(c *Call) error {
			ns, found, err := c.fullIn()
			switch {
			case err != nil:
				return err
			case !found:
				c.W.Int(-2)
			default:
				c.W.Int(show(c, ns))
			}
			return nil
		},
	}
}

// fullIn reads the command's one key and looks when it is as new.
func (c *Call) fullIn() (ns int64, found bool, err error) {
	key, err := c.onlyKey()
	if err != nil {
		return 0, false, err
	}
	ns, found = c.keyed().FullIn(key, c.Now)
	return ns, found, nil
}

func getCommand() Command {
	return Command{
		Name: "get", Group: GroupGeneric, Since: "0.1.0",
		Summary:    "Answers null: no key holds a string. Some clients read one when they connect.",
		Complexity: "O(1)",
		Flags:      FlagReadOnly | FlagFast, Keys: oneKey(), Category: CategoryRead,
		Args:  []Arg{{Name: "key", Type: TypeKey}},
		Reply: "null; a key with a bucket: an error",
		Run: func(c *Call) error {
			_, found, err := c.fullIn()
			if err != nil {
				return err
			}
			if found {
				return replyError("WRONGTYPE Operation against a key holding the wrong kind of value")
			}
			c.W.Null()
			return nil
		},
	}
}

func flushCommand() Command {
	return Command{
		Name: "flushall", Aliases: []string{"flushdb"}, Group: GroupGeneric, Since: "0.1.0",
		Summary:    "Makes every key of RL.ALLOW that this node counts as new. Buckets of policies stay.",
		Complexity: "O(n) in the keys",
		Flags:      FlagWrite, Keys: noKeys(), Category: CategoryAdmin,
		Args:  []Arg{{Name: "how", Type: TypeOneOf, Choices: []string{"ASYNC", "SYNC"}, Optional: true}},
		Reply: "OK",
		Run: func(c *Call) error {
			if len(c.Args) > 2 || len(c.Args) == 2 && !equalFold(c.Args[1], "ASYNC") && !equalFold(c.Args[1], "SYNC") {
				return errSyntax
			}
			c.d.cfg.Buckets.Flush()
			c.W.Simple("OK")
			return nil
		},
	}
}
