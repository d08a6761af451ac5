package commands

import "strconv"

// SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]
func scanCommand() Command {
	return Command{
		Name: "scan", Group: GroupGeneric, Since: "0.1.0",
		Summary:    "Lists the keys of this node, some at a time; a full key is not listed.",
		Complexity: "O(count) a call",
		Flags:      FlagReadOnly, Keys: noKeys(), Category: CategoryRead,
		Args: []Arg{
			{Name: "cursor", Type: TypeInteger},
			{Name: "pattern", Type: TypePattern, Token: "MATCH", Optional: true},
			{Name: "count", Type: TypeInteger, Token: "COUNT", Optional: true},
			{Name: "type", Type: TypeString, Token: "TYPE", Optional: true},
		},
		Reply: "array: the next cursor, 0 at the end, and an array of keys",
		Help: []string{
			"A key that exists during the whole scan is listed at least once.",
			"A user with key patterns is only shown keys that match one.",
		},
		Run: runScan,
	}
}

// maxScanCount bounds the work of one call.
const maxScanCount = 1000

func runScan(c *Call) error {
	cursor, err := strconv.ParseUint(string(c.Args[1]), 10, 64)
	if err != nil {
		return replyError("ERR invalid cursor")
	}
	pattern, count, listed := globPattern{[]globElement{{any: true}}}, int64(10), true
	for options := c.Args[2:]; len(options) > 0; options = options[2:] {
		if len(options) < 2 {
			return errSyntax
		}
		switch value := options[1]; {
		case equalFold(options[0], "MATCH"):
			var err error
			if pattern, err = compileGlob(string(value)); err != nil {
				return err
			}
		case equalFold(options[0], "COUNT"):
			n, ok := parseInt(value)
			if !ok {
				return errNotInteger
			}
			if n < 1 {
				return errSyntax
			}
			count = min(n, maxScanCount)
		case equalFold(options[0], "TYPE"):
			listed = string(value) == typeName
		default:
			return errSyntax
		}
	}
	// The keys go into a scratch reply of the same protocol, since their
	// number stands before them.
	n, from, next := 0, c.W.Len(), uint64(0)
	visit := func(key []byte) {
		if listed && pattern.matches(key) && c.user.Reaches(key) {
			c.W.Bulk(key)
			n++
		}
	}
	if c.d.cfg.Buckets.Len() > 0 { // else nobody need go through empty slots
		next = c.d.cfg.Buckets.Scan(cursor, int(count), c.Now, visit)
	}
	keys := append([]byte(nil), c.W.From(from)...)
	c.W.Truncate(from)
	c.W.Array(2)
	c.W.BulkString(strconv.FormatUint(next, 10))
	c.W.Array(n)
	c.W.Raw(keys)
	return nil
}
