package commands

import "strings"

// RL.HELP [command]
func helpCommand() Command {
	return Command{
		Name: "rl.help", Group: GroupDecision, Since: "0.1.0",
		Summary:    "Lists the commands, or explains one.",
		Complexity: "O(1)",
		Flags:      FlagReadOnly | FlagLoading, Keys: noKeys(), Category: CategoryConnection,
		Args:  []Arg{{Name: "command", Type: TypeString, Optional: true}},
		Reply: "array of lines",
		Run:   runHelp,
	}
}

func runHelp(c *Call) error {
	r := c.reader()
	if !r.more() {
		c.lines(overview(c.d.table))
		return nil
	}
	word := r.take("command")
	if err := r.end(); err != nil {
		return err
	}
	e := lookup(c.d.byName, word)
	if e == nil {
		return errorf("unknown command %s; RL.HELP lists all", quote(word))
	}
	c.lines(explain(e.Command))
	return nil
}

// overview is a line for each command that is this server's own.
func overview(table []Command) []string {
	lines := []string{"RL.HELP command explains one of:"}
	for i := range table {
		if c := &table[i]; c.Group.own() {
			lines = append(lines, c.syntax("")+" - "+c.Summary)
		}
	}
	return append(lines, "Redis' own are listed by COMMAND LIST.")
}

// explain is all that the table says about one command.
func explain(c *Command) []string {
	lines := []string{c.syntax(""), c.Summary}
	lines = append(lines, c.Help...)
	if c.Reply != "" {
		lines = append(lines, "Reply: "+c.Reply)
	}
	for i := range c.Sub {
		sub := &c.Sub[i]
		lines = append(lines, sub.syntax(strings.ToUpper(c.Name)+" ")+" - "+sub.Summary)
	}
	if len(c.Aliases) > 0 {
		lines = append(lines, "Aliases: "+strings.ToUpper(strings.Join(c.Aliases, ", ")))
	}
	return append(lines, "Complexity: "+c.Complexity, "Category: @"+string(c.Category)+", since "+c.Since)
}

func (c *Call) lines(lines []string) {
	c.W.Array(len(lines))
	for _, line := range lines {
		c.W.BulkString(line)
	}
}
