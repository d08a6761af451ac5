package commands

import "slices"

// RL.TOP [n] [DENIED|ASKED]
func topCommand() Command {
	return Command{
		Name: "rl.top", Group: GroupDecision, Since: "0.1.0",
		Summary:    "Lists the keys this node denied, or was asked about, most often of late.",
		Complexity: "O(1): the sketch has a fixed size",
		Flags:      FlagReadOnly, Keys: noKeys(), Category: CategoryRead,
		Args: []Arg{
			{Name: "n", Type: TypeInteger, Optional: true},
			{Name: "what", Type: TypeOneOf, Choices: []string{"DENIED", "ASKED"}, Optional: true},
		},
		Reply: "array of [key, estimated count], highest first",
		Help: []string{
			"n: 1 to 100, default 10. DENIED is the default.",
			"A user with key patterns is only shown keys that match one.",
			"Counts cover the last one to two minutes, and are estimates from a sketch of fixed size.",
		},
		Run: runTop,
	}
}

// maxTop is the longest list.
const maxTop = 100

func runTop(c *Call) error {
	r := c.reader()
	n, top := int64(10), c.d.cfg.Buckets.TopDenied
	if r.isNumber() {
		n = r.integer("n", 1, maxTop)
	}
	if r.more() && r.option("DENIED", "ASKED") == "ASKED" {
		top = c.d.cfg.Buckets.TopAsked
	}
	if err := r.end(); err != nil {
		return err
	}
	keys := top(maxTop, c.Now)
	keys = slices.DeleteFunc(keys, func(k TopKey) bool { return !c.user.Reaches([]byte(k.Key)) })
	keys = keys[:min(int(n), len(keys))]
	c.W.Array(len(keys))
	for _, k := range keys {
		c.W.Array(2)
		c.W.BulkString(k.Key)
		c.W.Int(k.Count)
	}
	return nil
}
