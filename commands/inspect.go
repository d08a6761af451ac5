package commands

import "github.com/rlserver/rlserver/policy"

// RL.INSPECT key [POLICY name [TIER t] [ENDPOINT e] [ATTR name value ...]]
func inspectCommand() Command {
	return Command{
		Name: "rl.inspect", Group: GroupDecision, Since: "0.1.0",
		Summary:    "Describes key's bucket without touching it.",
		Complexity: "O(log n) in the keys of one slot",
		Flags:      FlagReadOnly | FlagFast, Keys: oneKey(), Category: CategoryRead,
		Args:  append([]Arg{{Name: "key", Type: TypeKey}}, policyArgs()...),
		Reply: "map: key, slot, owner, algorithm, limit, window_ms, burst, remaining, reset_ms, idle_ms, bytes; null for an unknown or full key",
		Help: []string{
			"idle_ms: since the key last admitted, to about 70 ms.",
			"bytes: the memory the bucket is accounted with.",
			policyFormHelp + " The map begins with policy and version then.",
		},
		Run: runInspect,
	}
}

func runInspect(c *Call) error {
	r := c.reader()
	key := r.key()
	if r.more() {
		rule, ask, err := c.policyBucket(&r, key)
		if err != nil {
			return err
		}
		info, found := c.policyKeyed().InspectPolicy(ask.Slot, ask.Key, c.Now)
		c.inspected(rule, key, ask.Slot, &info, found)
		return nil
	}
	if err := r.end(); err != nil {
		return err
	}
	if err := c.serve(key); err != nil {
		return err
	}
	info, found := c.keyed().Inspect(key, c.Now)
	c.inspected(nil, key, c.d.cfg.Ownership.Slot(key), &info, found)
	return nil
}

// inspected describes a bucket: the rule's, or if that is nil the key's own.
func (c *Call) inspected(rule *policy.Rule, key []byte, slot uint16, info *BucketInfo, found bool) {
	w := c.W
	switch {
	case !found:
		w.Null()
		return
	case rule == nil:
		w.Map(11)
	default:
		w.Map(13)
		w.BulkString("policy")
		w.BulkString(rule.Name)
		w.BulkString("version")
		w.Int(int64(rule.Version))
	}
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
}

// millisecond is one millisecond in nanoseconds.
const millisecond = 1_000_000
