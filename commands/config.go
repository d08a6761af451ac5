package commands

import "strings"

// CONFIG GET | SET | RESETSTAT
func configCommand() Command {
	return withHelp(Command{
		Name: "config", Group: GroupServer, Since: "0.1.0",
		Summary: "Shows and changes settings.", Complexity: "O(n) in the settings",
		Flags: FlagAdmin | FlagLoading, Keys: noKeys(), Category: CategoryAdmin,
		Sub: []Command{
			{
				Name: "get", Since: "0.1.0", Summary: "Shows settings; secrets are never among them.", Complexity: "O(n) in the settings",
				Flags: FlagAdmin | FlagLoading, Keys: noKeys(), Category: CategoryRead,
				Args:  []Arg{{Name: "pattern", Type: TypePattern, Multiple: true}},
				Reply: "map of names and values", Run: runConfigGet,
			},
			{
				Name: "set", Since: "0.1.0", Summary: "Changes settings that can change at run time.", Complexity: "O(n) in the settings",
				Flags: FlagAdmin | FlagLoading, Keys: noKeys(), Category: CategoryAdmin,
				Args:  []Arg{{Name: "name", Type: TypeString}, {Name: "value", Type: TypeString}},
				Reply: "OK", Run: runConfigSet,
			},
			{
				Name: "resetstat", Since: "0.1.0", Summary: "Sets the counters of INFO commandstats and errorstats to 0.", Complexity: "O(1)",
				Flags: FlagAdmin | FlagLoading, Keys: noKeys(), Category: CategoryAdmin,
				Reply: "OK", Run: func(c *Call) error {
					c.d.resetStats()
					c.W.Simple("OK")
					return nil
				},
			},
		},
	})
}

func runConfigGet(c *Call) error {
	var found []Setting
	for _, s := range c.d.cfg.Server.Settings() {
		for _, pattern := range c.Args[2:] {
			if glob(strings.ToLower(string(pattern)), []byte(s.Name)) {
				found = append(found, s)
				break
			}
		}
	}
	c.W.Map(len(found))
	for _, s := range found {
		c.W.BulkString(s.Name)
		c.W.BulkString(s.Value)
	}
	return nil
}

func runConfigSet(c *Call) error {
	name := strings.ToLower(string(c.Args[2]))
	known, err := c.d.cfg.Server.Set(name, string(c.Args[3]))
	switch {
	case !known:
		return replyError("ERR Unknown option or number of arguments for CONFIG SET - '" + clean(c.Args[2], 128) + "'")
	case err != nil:
		return replyError("ERR CONFIG SET failed (possibly related to argument '" + clean(c.Args[2], 128) + "') - " + err.Error())
	}
	c.W.Simple("OK")
	return nil
}
