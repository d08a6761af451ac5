package commands

import "strings"

// RL.POLICY.LIST [CURSOR c] [MATCH glob] [COUNT n]
func policyListCommand() Command {
	return Command{
		Name: "rl.policy.list", Aliases: []string{"rl.policylist"}, Group: GroupPolicies, Since: "0.2.0",
		Summary:    "Lists the policies by name, some at a time.",
		Complexity: "O(count) a call",
		Flags:      FlagReadOnly, Keys: noKeys(), Category: CategoryRead,
		Args: []Arg{
			{Name: "cursor", Type: TypeString, Token: "CURSOR", Optional: true},
			{Name: "pattern", Type: TypePattern, Token: "MATCH", Optional: true},
			{Name: "count", Type: TypeInteger, Token: "COUNT", Optional: true},
		},
		Reply: "array: the next cursor, 0 at the end, and an array of maps as in RL.POLICY.GET",
		Help: []string{
			"CURSOR: 0, the default, begins; go on with the cursor that was answered, until it is 0. Its text has no other meaning.",
			"A policy that exists during the whole listing is listed exactly once, whatever else is set and deleted meanwhile.",
			"COUNT: how many policies are looked at, 1 to 1000, default 100; with MATCH fewer may be listed, or none.",
		},
		Run: runPolicyList,
	}
}

const defaultListCount = 100

// cursorMark stands before the name from which a cursor goes on, so that no
// name reads as 0.
const cursorMark = "@"

func runPolicyList(c *Call) error {
	view, err := c.policies()
	if err != nil {
		return err
	}
	r := c.reader()
	from, count := "", int64(defaultListCount)
	pattern := globPattern{[]globElement{{any: true}}}
	for r.more() {
		switch r.option("CURSOR", "MATCH", "COUNT") {
		case "CURSOR":
			cursor := string(r.take("CURSOR"))
			name, marked := strings.CutPrefix(cursor, cursorMark)
			if cursor != "0" && !marked {
				r.fail("CURSOR must be 0 or what the last call answered, got %s", quote([]byte(cursor)))
			}
			if marked {
				from = name
			}
		case "MATCH":
			if pattern, err = compileGlob(string(r.take("MATCH"))); err != nil {
				return err
			}
		case "COUNT":
			count = r.integer("COUNT", 1, maxScanCount)
		}
	}
	if err := r.end(); err != nil {
		return err
	}
	// The policies go into a scratch reply, since their number stands before them.
	begin, n, next := c.W.Len(), 0, "0"
	for rule := range view.From(from) {
		if count == 0 {
			next = cursorMark + rule.Name
			break
		}
		count--
		if pattern.matches([]byte(rule.Name)) {
			c.showPolicy(&rule.Policy)
			n++
		}
	}
	listed := append([]byte(nil), c.W.From(begin)...)
	c.W.Truncate(begin)
	c.W.Array(2)
	c.W.BulkString(next)
	c.W.Array(n)
	c.W.Raw(listed)
	return nil
}
