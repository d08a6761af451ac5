package commands

import (
	"strings"

	"github.com/rlserver/rlserver/policy"
)

// RL.POLICY.GET name
func policyGetCommand() Command {
	return Command{
		Name: "rl.policy.get", Aliases: []string{"rl.policyget"}, Group: GroupPolicies, Since: "0.2.0",
		Summary:    "Shows a policy as this node knows it.",
		Complexity: "O(log n) in the policies",
		Flags:      FlagReadOnly | FlagFast | FlagNames, Keys: oneKey(), Category: CategoryRead,
		Args:  []Arg{{Name: "name", Type: TypeKey}},
		Reply: "map of the words of RL.POLICY.SET, and version; null if there is none",
		Help: []string{
			"The map begins with name and ends with version, an integer; between them is each word of RL.POLICY.SET, in small letters, that is not at its default.",
			"A word's value is the text that RL.POLICY.SET takes. attr is an array of [name, pattern], force is 1.",
		},
		Run: func(c *Call) error {
			view, err := c.policies()
			if err != nil {
				return err
			}
			rule := view.Get(string(c.Args[1]))
			if rule == nil {
				c.W.Null()
				return nil
			}
			c.showPolicy(&rule.Policy)
			return nil
		},
	}
}

// showPolicy writes a policy's words.
func (c *Call) showPolicy(p *policy.Policy) {
	type shown struct {
		word   policy.Word
		values [][]string
	}
	var all []shown
	for _, word := range policy.Words() {
		if values := word.Get(p); len(values) > 0 {
			all = append(all, shown{word, values})
		}
	}
	w := c.W
	w.Map(len(all) + 2)
	w.BulkString("name")
	w.BulkString(p.Name)
	for _, s := range all {
		w.BulkString(strings.ToLower(s.word.Name))
		switch {
		case s.word.Repeat:
			w.Array(len(s.values))
			for _, values := range s.values {
				c.lines(values)
			}
		case s.word.Values == 0:
			w.Int(1)
		default:
			w.BulkString(s.values[0][0])
		}
	}
	w.BulkString("version")
	w.Int(int64(p.Version))
}
