// Package commands holds what a client may ask: one record per command, one
// file per command, one table. The table drives dispatch, arity errors,
// COMMAND, access, counting, RL.HELP and docs/commands.md. The package knows
// neither sockets nor how buckets are stored: it declares the interfaces it
// needs (ports.go) and is given them.
package commands

import "strings"

// Command is one record of the table.
type Command struct {
	Name       string   // lower case, as COMMAND lists it
	Aliases    []string // further names, lower case
	Group      Group
	Summary    string // one sentence
	Since      string // version of rlserver that had it first
	Complexity string
	Flags      Flag
	Keys       Keys
	Category   Category
	Args       []Arg    // what may follow the name; arity and syntax come from it
	Reply      string   // the shape of the reply
	Help       []string // more to know, a line each
	Sub        []Command
	Run        func(*Call) error
}

// Group is the chapter of docs/commands.md a command stands in.
type Group string

// The groups, in the order of the page.
const (
	GroupDecision     Group = "decision"
	GroupPolicies     Group = "policies"
	GroupNodes        Group = "nodes"
	GroupConnection   Group = "connection"
	GroupTransactions Group = "transactions"
	GroupGeneric      Group = "generic"
	GroupServer       Group = "server"
	GroupCluster      Group = "cluster"
	GroupPubSub       Group = "pubsub"
)

// own says whether the group is of this server's own commands, which Redis
// has none of.
func (g Group) own() bool { return g == GroupDecision || g == GroupPolicies || g == GroupNodes }

// Category says who may run a command.
type Category string

// The categories. Connection commands are open to everybody who got in.
const (
	CategoryDecide     Category = "decide"
	CategoryRead       Category = "read"
	CategoryAdmin      Category = "admin"
	CategoryConnection Category = "connection"
)

// Flag is a set of properties.
type Flag uint16

// The flags: Redis' own (COMMAND lists them), and the ones only the dispatcher uses.
const (
	FlagWrite      Flag = 1 << iota // may change a bucket
	FlagReadOnly                    // changes nothing
	FlagFast                        // O(1) or O(log n)
	FlagAdmin                       // changes or reveals the server
	FlagNoAuth                      // may be sent before authentication
	FlagNoQueue                     // runs at once inside MULTI
	FlagLoading                     // answers while the server starts, and cannot decide yet
	FlagBlocking                    // may make the session wait
	FlagSubscriber                  // a subscriber that speaks RESP2 may send it
	FlagSecret                      // its words may be secrets
	FlagDelete                      // makes the keys it names as new
	FlagUnpaused                    // does not wait while clients are paused
	FlagNames                       // its key is a name, so that clients can route the command: any node takes it
	FlagScopes                      // policies say in which slots its buckets are, not its key
)

// flagNames are Redis' words for the flags it knows.
func (f Flag) names() []string {
	all := []struct {
		flag Flag
		name string
	}{
		{FlagWrite, "write"},
		{FlagReadOnly, "readonly"},
		{FlagAdmin, "admin"},
		{FlagLoading, "loading"},
		{FlagFast, "fast"},
		{FlagNoAuth, "no_auth"},
	}
	var names []string
	for _, a := range all {
		if f&a.flag != 0 {
			names = append(names, a.name)
		}
	}
	return names
}

// Keys says which arguments are keys, as in COMMAND: positions count from 1,
// Last may be negative (from the end), a zero First means none.
type Keys struct{ First, Last, Step int }

func noKeys() Keys  { return Keys{} }
func oneKey() Keys  { return Keys{1, 1, 1} }
func allKeys() Keys { return Keys{1, -1, 1} }

// namesBuckets says whether the command's keys are those of buckets, which a
// user must reach and a transaction holds.
func (c *Command) namesBuckets() bool { return c.Keys.First > 0 && c.Flags&FlagNames == 0 }

// bucketKeys returns the keys of buckets among the words of the command.
func (c *Command) bucketKeys(args [][]byte) [][]byte {
	if !c.namesBuckets() {
		return nil
	}
	return c.Keys.of(args)
}

// Arg is one argument as COMMAND DOCS describes it.
type Arg struct {
	Name     string
	Type     ArgType
	Token    string // the word that introduces it
	Optional bool
	Multiple bool
	Choices  []string // the words of a OneOf
}

// ArgType is Redis' name for the kind of an argument.
type ArgType string

// The types that occur.
const (
	TypeKey     ArgType = "key"
	TypeString  ArgType = "string"
	TypeInteger ArgType = "integer"
	TypePattern ArgType = "pattern"
	TypeToken   ArgType = "pure-token"
	TypeOneOf   ArgType = "oneof"
)

// arity is Redis': the number of words, the name included; negative where it
// is a minimum. words is how many words the name itself has.
func (c *Command) arity(words int) int {
	if len(c.Sub) > 0 && c.Run == nil {
		return -(words + 1)
	}
	n, open := words, len(c.Sub) > 0
	for i := range c.Args {
		a := &c.Args[i]
		if a.Optional {
			open = true
			continue
		}
		n++
		if a.Token != "" && a.Type != TypeToken {
			n++
		}
		if a.Multiple {
			open = true
		}
	}
	if open {
		return -n
	}
	return n
}

// syntax is the line a person reads: `RL.ALLOW key limit window [burst] ...`.
func (c *Command) syntax(prefix string) string {
	var b strings.Builder
	b.WriteString(prefix + strings.ToUpper(c.Name))
	for i := range c.Args {
		b.WriteString(" " + c.Args[i].syntax())
	}
	if len(c.Sub) > 0 && len(c.Args) == 0 {
		b.WriteString(" subcommand ...")
	}
	return b.String()
}

func (a *Arg) syntax() string {
	s := a.Name
	if a.Type == TypeOneOf {
		s = strings.Join(a.Choices, "|")
	}
	if a.Type == TypeToken {
		s = a.Token
	} else if a.Token != "" {
		s = a.Token + " " + s
	}
	if a.Multiple {
		s += " [" + s + " ...]"
	}
	if a.Optional {
		s = "[" + s + "]"
	}
	return s
}
