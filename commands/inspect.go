package commands

// RL.INSPECT key
func inspectCommand() Command {
	return Command{
		Name: "rl.inspect", Group: GroupDecision, Since: "0.1.0",
		Summary:    "Describes key's bucket without touching it.",
		Complexity: "O(log n) in the keys of one slot",
		Flags:      FlagReadOnly | FlagFast, Keys: oneKey(), Category: CategoryRead,
		Args:  []Arg{{Name: "key", Type: TypeKey}},
		Reply: "map: key, slot, owner, algorithm, limit, window_ms, burst, remaining, reset_ms, idle_ms, bytes; null for an unknown or full key",
		Help: []string{
			"idle_ms: since the key last admitted, to about 70 ms.",
			"bytes: the memory the bucket is accounted with.",
		},
		Run: runInspect,
	}
}

func runInspect(c *Call) error {
	key, err := c.onlyKey()
	if err != nil {
		return err
	}
	info, found := c.keyed().Inspect(key, c.Now)
	if !found {
		c.W.Null()
		return nil
	}
	slot := c.d.cfg.Ownership.Slot(key)
	w := c.W
	w.Map(11)
	w.BulkString("key")
	w.Bulk(key)
	w.BulkString("slot")
	w.Int(int64(slot))
	w.BulkString("owner")
	w.BulkString(c.d.cfg.Ownership.Owner(slot))
	w.BulkString("algorithm")
	w.BulkString(info.Spec.Algorithm.String())
	w.BulkString("limit")
	w.Int(info.Spec.Limit)
	w.BulkString("window_ms")
	w.Int(info.Spec.Window / millisecond)
	w.BulkString("burst")
	w.Int(info.Spec.Capacity())
	w.BulkString("remaining")
	w.Int(info.Remaining)
	w.BulkString("reset_ms")
	w.Int(info.ResetMS)
	w.BulkString("idle_ms")
	w.Int(info.IdleMS)
	w.BulkString("bytes")
	w.Int(info.Bytes)
	return nil
}

// millisecond is one millisecond in nanoseconds.
const millisecond = 1_000_000
