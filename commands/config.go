package commands

import (
	"slices"
	"strconv"
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
				Name: "set", Since: "0.1.0", Summary: "Changes settings while the server runs, all that are named or none; configuration.md says which can. Others need a restart, and so does what is to outlive one. A lower max-memory is reached little by little.", Complexity: "O(n) in the settings",
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

// settings are those of the server and of the dispatcher itself, always in the
// same order.
func (d *Dispatcher) settings() []Setting {
	return slices.Concat(d.cfg.Server.Settings(), d.slow.settings(), d.latency.settings())
}

// RunTimeSetting is one that only CONFIG SET changes.
type RunTimeSetting struct{ Name, Default, Meaning string }

// RunTimeSettings are those of the dispatcher, which have no flag.
func RunTimeSettings() []RunTimeSetting {
	return []RunTimeSetting{
		{settingSlow, strconv.Itoa(DefaultSlow / 1000), "microseconds after which SLOWLOG keeps a command that is not fast; -1: never"},
		{settingSlowKept, strconv.Itoa(DefaultSlowKept), "lines that SLOWLOG keeps"},
		{settingLatency, "0", "milliseconds after which LATENCY notes an event; 0: never"},
	}
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
	before := c.d.settings()
	for i := 0; i < len(pairs); i += 2 {
		if err := c.configure(pairs[i], pairs[i+1], pairs[:i]); err != nil {
			return c.d.setBack(before, err)
		}
	}
	c.W.Simple("OK")
	return nil
}

// setBack gives settings the values they had, and returns why. It begins with
// this server's own, which stand last: what Redis has under another name is
// then as it was, to the nanosecond.
func (d *Dispatcher) setBack(before []Setting, why error) error {
	for i, s := range slices.Backward(before) {
		if d.settings()[i].Value == s.Value {
			continue
		}
		if _, err := d.set(s.Name, s.Value); err != nil {
			return replyError(replyText(why) + "; " + s.Name + " could not be set back: " + err.Error())
		}
	}
	return why
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
