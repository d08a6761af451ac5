package state

// Scan visits about count keys of RL.ALLOW from cursor on, full ones left out, and
// returns the cursor to go on from; 0 starts, and 0 says that all was seen. A
// key that exists during a whole scan is visited at least once, whatever else
// comes and goes meanwhile. Cursors are below 2^53; any other number is safe.
//
// One call looks at about 10*count keys and 1,024 more, so where most are full
// it may visit fewer than asked for, even none. Empty slots do not count: all
// 16,384 take less than a millisecond, and a person with few keys is spared
// empty answers. key is valid only during
// visit, which may call the Store.
func (s *Store) Scan(cursor uint64, count int, now int64, visit func(key []byte)) (next uint64) {
	const maxCount = 1 << 20
	count = min(max(count, 1), maxCount)
	work := 10*count + 1024
	slot, pos := cursor>>posBits, cursor&(1<<posBits-1)
	for slot < Slots {
		if count <= 0 || work <= 0 {
			return slot<<posBits | pos
		}
		seen, visited := 0, 0
		var more bool
		pos, more, seen, visited = s.visitKeys(&s.slots[slot], pos, count, now, visit)
		work -= seen
		count -= visited
		if !more {
			slot, pos = slot+1, 0
		}
	}
	return 0
}

// visitKeys visits a batch of a slot's keys that are not full, at most about
// count, from position pos on. It returns the position to go on from, false
// at the slot's end, and how many keys were looked at and visited.
func (s *Store) visitKeys(sl *slot, pos uint64, count int, now int64, visit func([]byte)) (next uint64, more bool, seen, visited int) {
	sl.mu.Lock()
	if sl.keys == sl.policies {
		sl.mu.Unlock()
		return 0, false, 0, 0
	}
	// Keys never change, so they are visited when the lock is gone.
	var buf [walkBatch]string
	keys := buf[:0]
	next, more = sl.walk(pos, min(count, walkBatch), func(_ uint64, e *entry) {
		seen++
		if !e.policy() && s.fullIn(e, now) > 0 {
			keys = append(keys, e.key)
		}
	})
	sl.mu.Unlock()
	var key []byte
	for _, k := range keys {
		key = append(key[:0], k...)
		visit(key)
	}
	return next, more, seen, len(keys)
}

// CountInSlot is the number of keys held in a slot, full ones that were not
// swept included; 0 for a slot that does not exist.
func (s *Store) CountInSlot(slot uint16) int {
	if slot >= Slots {
		return 0
	}
	sl := &s.slots[slot]
	sl.mu.Lock()
	defer sl.mu.Unlock()
	return int(sl.keys - sl.policies)
}

// KeysInSlot visits up to n keys of a slot, full ones left out. key is valid
// only during visit, which may call the Store.
func (s *Store) KeysInSlot(slot uint16, n int, now int64, visit func(key []byte)) {
	if slot >= Slots {
		return
	}
	for pos, more, visited := uint64(0), true, 0; more && n > 0; n -= visited {
		left := n
		pos, more, _, visited = s.visitKeys(&s.slots[slot], pos, n, now, func(key []byte) {
			// A batch may hold more: keys of one position come together.
			if left > 0 {
				left--
				visit(key)
			}
		})
	}
}
