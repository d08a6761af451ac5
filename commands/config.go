package commands

import (
	"slices"
	"strings"
)

// CONFIG GET | SET | RESETSTAT | REWRITE
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
				Name: "set", Since: "0.1.0", Summary: "Changes max-memory, slowlog-log-slower-than, slowlog-max-len or latency-monitor-threshold, all that are named or none; others need a restart. A lower max-memory is reached little by little.", Complexity: "O(n) in the settings",
				Flags: FlagAdmin | FlagLoading | FlagSecret, Keys: noKeys(), Category: CategoryAdmin,
				Args: []Arg{
					{Name: "name", Type: TypeString},
					{Name: "value", Type: TypeString},
					{Name: "name value", Type: TypeString, Optional: true, Multiple: true},
				},
				Reply: "OK", Run: runConfigSet,
			},
			{
				Name: "rewrite", Since: "0.1.0", Summary: "Answers an error: the server never writes its configuration.", Complexity: "O(1)",
				Flags: FlagAdmin | FlagLoading, Keys: noKeys(), Category: CategoryAdmin,
				Reply: "error", Run: func(*Call) error {
					return errorf("CONFIG REWRITE is not supported: the server never writes its configuration")
				},
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

// settings are those of the server and of the dispatcher itself.
func (d *Dispatcher) settings() []Setting {
	return slices.Concat(d.cfg.Server.Settings(), d.slow.settings(), d.latency.settings())
}

// set changes one setting.
func (d *Dispatcher) set(name, value string) (known bool, err error) {
	if known, err = d.slow.set(name, value); known {
		return known, err
	}
	if known, err = d.latency.set(name, value); known {
		return known, err
	}
	return d.cfg.Server.Set(name, value)
}

func runConfigGet(c *Call) error {
	words := c.Args[2:]
	if len(words) > maxPatterns {
		return errorf("at most %d patterns, got %d", maxPatterns, len(words))
	}
	patterns := make([]globPattern, len(words))
	for i, word := range words {
		var err error
		if patterns[i], err = compileGlob(strings.ToLower(string(word))); err != nil {
			return err
		}
	}
	var found []Setting
	for _, s := range c.d.settings() {
		if slices.ContainsFunc(patterns, func(p globPattern) bool { return p.matches([]byte(s.Name)) }) {
			found = append(found, s)
		}
	}
	c.W.Map(len(found))
	for _, s := range found {
		c.W.BulkString(s.Name)
		c.W.BulkString(s.Value)
	}
	return nil
}

// CONFIG SET name value [name value ...]: all or nothing.
func runConfigSet(c *Call) error {
	pairs := c.Args[2:]
	if len(pairs)%2 != 0 {
		return errSyntax
	}
	before := make(map[string]string, len(pairs)/2)
	for _, s := range c.d.settings() {
		before[s.Name] = s.Value
	}
	for i := 0; i < len(pairs); i += 2 {
		if err := c.configure(pairs[i], pairs[i+1], pairs[:i]); err != nil {
			for ; i > 0; i -= 2 {
				name := strings.ToLower(string(pairs[i-2]))
				if _, failed := c.d.set(name, before[name]); failed != nil {
					return errorf("%s; %s could not be set back: %s", err, name, failed)
				}
			}
			return err
		}
	}
	c.W.Simple("OK")
	return nil
}

// configure changes one setting; done are the pairs that were changed before.
func (c *Call) configure(word, value []byte, done [][]byte) error {
	name := strings.ToLower(string(word))
	for i := 0; i < len(done); i += 2 {
		if strings.EqualFold(string(done[i]), name) {
			return configFailed(word, "duplicate parameter")
		}
	}
	known, err := c.d.set(name, string(value))
	switch {
	case !known:
		return replyError("ERR Unknown option or number of arguments for CONFIG SET - '" + clean(word, 128) + "'")
	case err != nil:
		return configFailed(word, err.Error())
	}
	return nil
}

func configFailed(name []byte, why string) error {
	return replyError("ERR CONFIG SET failed (possibly related to argument '" + clean(name, 128) + "') - " + why)
}
