package commands

import (
	"slices"
	"strings"
)

// COMMAND DOCS [name ...]
func runCommandDocs(c *Call) error {
	known := slices.DeleteFunc(c.chosen(), func(e *entry) bool { return e == nil })
	c.W.Map(len(known))
	for _, e := range known {
		c.W.BulkString(e.full)
		c.document(e)
	}
	return nil
}

// document writes what COMMAND DOCS tells about one command.
func (c *Call) document(e *entry) {
	w := c.W
	fields := 4
	if e.group.own() {
		fields++
	}
	if len(e.Args) > 0 {
		fields++
	}
	if len(e.Sub) > 0 {
		fields++
	}
	w.Map(fields)
	w.BulkString("summary")
	w.BulkString(e.Summary)
	w.BulkString("since")
	w.BulkString(e.Since)
	w.BulkString("group")
	if e.group.own() {
		w.BulkString("module")
		w.BulkString("module")
		w.BulkString(moduleName)
	} else {
		w.BulkString(string(e.group))
	}
	w.BulkString("complexity")
	w.BulkString(e.Complexity)
	if len(e.Args) > 0 {
		w.BulkString("arguments")
		w.Array(len(e.Args))
		for i := range e.Args {
			c.documentArg(&e.Args[i])
		}
	}
	if len(e.Sub) > 0 {
		w.BulkString("subcommands")
		w.Map(len(e.Sub))
		for i := range e.Sub {
			sub := e.sub[e.Sub[i].Name]
			w.BulkString(sub.full)
			c.document(sub)
		}
	}
}

func (c *Call) documentArg(a *Arg) {
	w := c.W
	var flags []string
	if a.Optional {
		flags = append(flags, "optional")
	}
	if a.Multiple {
		flags = append(flags, "multiple")
	}
	fields := 2
	for _, present := range []bool{a.Type == TypeKey, a.Token != "", len(flags) > 0, len(a.Choices) > 0} {
		if present {
			fields++
		}
	}
	w.Map(fields)
	w.BulkString("name")
	w.BulkString(a.Name)
	w.BulkString("type")
	w.BulkString(string(a.Type))
	if a.Type == TypeKey {
		w.BulkString("key_spec_index")
		w.Int(0)
	}
	if a.Token != "" {
		w.BulkString("token")
		w.BulkString(a.Token)
	}
	if len(flags) > 0 {
		w.BulkString("flags")
		w.Set(len(flags))
		for _, f := range flags {
			w.Simple(f)
		}
	}
	if len(a.Choices) > 0 {
		w.BulkString("arguments")
		w.Array(len(a.Choices))
		for _, choice := range a.Choices {
			c.documentArg(&Arg{Name: strings.ToLower(choice), Type: TypeToken, Token: choice})
		}
	}
}
