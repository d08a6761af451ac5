package commands

// OBJECT ENCODING | FREQ | IDLETIME | REFCOUNT key
func objectCommand() Command {
	one := func(name, summary, reply string, run func(*Call, BucketInfo) error) Command {
		return Command{
			Name: name, Since: "0.1.0", Summary: summary, Complexity: "O(log n) in the keys of one slot",
			Flags: FlagReadOnly, Keys: Keys{2, 2, 1}, Category: CategoryRead,
			Args: []Arg{{Name: "key", Type: TypeKey}}, Reply: reply,
			Run: func(c *Call) error {
				info, found, err := c.inspect(2)
				if err != nil {
					return err
				}
				if !found {
					c.W.Null()
					return nil
				}
				return run(c, info)
			},
		}
	}
	return withHelp(Command{
		Name: "object", Group: GroupGeneric, Since: "0.1.0",
		Summary: "Describes how a key is kept.", Complexity: "O(log n) in the keys of one slot",
		Flags: FlagReadOnly, Keys: noKeys(), Category: CategoryRead,
		Sub: []Command{
			one("encoding", "Names the algorithm of the key's bucket.", "bulk string, or null", func(c *Call, info BucketInfo) error {
				c.W.BulkString(info.Spec.Algorithm.String())
				return nil
			}),
			one("freq", "Answers an error: no access frequency is kept.", "error", func(*Call, BucketInfo) error {
				return replyError("ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.")
			}),
			one("idletime", "Tells for how many seconds the key admitted nothing.", "integer, or null", func(c *Call, info BucketInfo) error {
				c.W.Int(info.IdleMS / 1000)
				return nil
			}),
			one("refcount", "Answers 1.", "integer, or null", func(c *Call, _ BucketInfo) error {
				c.W.Int(1)
				return nil
			}),
		},
	})
}

// inspect describes the bucket of the key at a place of the arguments.
func (c *Call) inspect(place int) (info BucketInfo, found bool, err error) {
	r := reader{args: c.Args, next: place, maxKey: c.d.cfg.MaxKey}
	key := r.key()
	if r.err != nil {
		return info, false, r.err
	}
	if err := c.serve(key); err != nil {
		return info, false, err
	}
	info, found = c.keyed().Inspect(key, c.Now)
	return info, found, nil
}
