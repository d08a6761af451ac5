package commands

import (
	"fmt"
	"io"
	"strings"
)

// Markdown writes docs/commands.md from the table.
func Markdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString(`# Commands

<!-- Made by make docs from the commands' own table; do not edit. -->

Names are case-insensitive. Keys and values are binary-safe. A "map" is a flat
array in RESP2 and a map in RESP3. ` + "`RL.HELP command`" + ` tells the same at the prompt,
` + "`COMMAND DOCS`" + ` to programs. What is missing, doubled, unknown or out of range is an
error that names the argument, and changes nothing.

Category says who may run a command: @connection everybody who got in, @decide
and @read applications, @admin operators.
`)
	table := Table()
	for _, chapter := range []struct {
		group Group
		title string
		text  string
	}{
		{GroupDecision, "Deciding", "This server's own commands, and redis-cell's."},
		{GroupPolicies, "Policies", "Limits as data: each can be changed while it is in use. In RL.POLICY.SET, -GET and -DEL the policy's name is declared as a key, so that cluster-aware clients can route them: any node takes them, and no user's key patterns apply. The names with one dot are for clients that cannot send two."},
		{GroupNodes, "Nodes and slots", "Who is in the cluster, and who counts what. A server that is alone answers for itself, and refuses changes."},
		{GroupConnection, "Connections", "Redis' own commands about a connection."},
		{GroupTransactions, "Transactions", "The commands of a transaction run in order and at one time, and nobody else touches the slots of their keys meanwhile. A transaction so long that its replies leave in parts (--max-output, --max-batch), or with a command among them that may take long and names no key (SCAN, INFO, CONFIG), lets others in there. So does a command on a policy's bucket in another slot than the keys', as where PER leaves out client; RL.CHECK on its own is all or nothing all the same. Nothing is ever undone."},
		{GroupGeneric, "Keys", "Redis' generic commands, as far as they have a meaning: a key exists while its bucket is not full."},
		{GroupServer, "Server", "Redis' own commands about the server. To clients a node is a standalone Redis " + RedisVersion + "."},
		{GroupCluster, "Cluster", "To clients a node that is alone is a Redis without cluster support, and says so in Redis' words."},
		{GroupPubSub, "Publish and subscribe", "Nothing is ever published. Some clients subscribe when they connect, and get their confirmations."},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", chapter.title, chapter.text)
		for i := range table {
			if table[i].Group == chapter.group {
				markdownOne(&b, &table[i])
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownOne(b *strings.Builder, c *Command) {
	name := strings.ToUpper(c.Name)
	fmt.Fprintf(b, "\n### %s\n\n", name)
	if len(c.Sub) == 0 {
		fmt.Fprintf(b, "    %s\n\n", c.syntax(""))
	}
	fmt.Fprintf(b, "%s\n", c.Summary)
	if len(c.Help) > 0 {
		b.WriteString("\n")
		for _, line := range c.Help {
			fmt.Fprintf(b, "- %s\n", line)
		}
	}
	if len(c.Sub) > 0 {
		b.WriteString("\n| subcommand | | reply | category |\n|---|---|---|---|\n")
		for i := range c.Sub {
			sub := &c.Sub[i]
			fmt.Fprintf(b, "| `%s` | %s | %s | @%s |\n", cell(sub.syntax(name+" ")), sub.Summary, sub.Reply, sub.Category)
		}
	}
	if c.Reply != "" {
		fmt.Fprintf(b, "\nReply: %s.\n", c.Reply)
	}
	b.WriteString("\n")
	if len(c.Aliases) > 0 {
		fmt.Fprintf(b, "Also %s. ", strings.ToUpper(strings.Join(c.Aliases, ", ")))
	}
	fmt.Fprintf(b, "Category @%s. %s. Since %s.\n", c.Category, c.Complexity, c.Since)
}

// cell makes text fit for a cell of a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
