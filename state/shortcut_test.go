package state

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func newShortcuts(keys int64) *shortcuts {
	c := new(shortcuts)
	c.fit(keys)
	return c
}

// TestShortcutsFindOnlyTheKey: what is found is what was put and not dropped,
// or nothing, with any hashes.
func TestShortcutsFindOnlyTheKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hash := rapid.SampledFrom(hashes()).Draw(t, "hash")
		c := newShortcuts(0)
		live := map[string]*entry{}
		key := rapid.Custom(func(t *rapid.T) []byte {
			return []byte(fmt.Sprint(rapid.IntRange(0, 20).Draw(t, "key")))
		})
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				k := key.Draw(t, "key")
				if live[string(k)] == nil {
					live[string(k)] = newEntry(k)
				}
				c.put(hash(k), live[string(k)])
				if got := c.find(hash(k), k); got != live[string(k)] {
					t.Fatalf("%s was not found when it was put last", k)
				}
			},
			"drop": func(t *rapid.T) {
				k := key.Draw(t, "key")
				if e := live[string(k)]; e != nil {
					c.drop(hash(k), e)
					delete(live, string(k))
				}
			},
			"fit": func(t *rapid.T) { c.fit(rapid.Int64Range(0, 100_000).Draw(t, "keys")) },
			"": func(t *rapid.T) {
				k := key.Draw(t, "key")
				if got := c.find(hash(k), k); got != nil && got != live[string(k)] {
					t.Fatalf("%s: an entry was found that was dropped", k)
				}
			},
		})
	})
}

// With room for all keys nearly all are found.
func TestShortcutsFindMost(t *testing.T) {
	const keys = 100_000
	c := newShortcuts(keys)
	entries := make([]*entry, keys)
	for i := range entries {
		key := testKey(i)
		entries[i] = newEntry(key[:])
		c.put(testHash(key[:]), entries[i])
	}
	found := 0
	for i := range entries {
		key := testKey(i)
		if c.find(testHash(key[:]), key[:]) == entries[i] {
			found++
		}
	}
	if found < keys*85/100 {
		t.Errorf("%d of %d are found", found, keys)
	}
}

func TestShortcutsFit(t *testing.T) {
	c := newShortcuts(0)
	size := func() int64 { return int64(len(c.table.Load().lines) * shortcutWays) }
	if size() != minShortcutLines*shortcutWays {
		t.Errorf("an empty one has room for %d", size())
	}
	for _, keys := range []int64{1, 7168, 7169, 1_000_000, 900_000, 500_000, 100_000, 0} {
		c.fit(keys)
		if size() < keys || size() > max(2*keys, minShortcutLines*shortcutWays)+shortcutWays {
			t.Errorf("for %d keys there is room for %d", keys, size())
		}
		table := c.table.Load()
		if c.fit(keys); c.table.Load() != table {
			t.Errorf("%d keys: a table that fits was replaced", keys)
		}
	}
}

// Keys are found by shortcut once a sweep has made room, and one that comes
// once does not displace them.
func TestStoreUsesShortcuts(t *testing.T) {
	s := newStore(t)
	for i := range 20_000 {
		mustDecide(t, s, fmt.Sprint(i), perMinute, take(1), start)
	}
	s.Sweep(start, Slots)
	for i := range 20_000 {
		mustDecide(t, s, fmt.Sprint(i), perMinute, take(1), start)
	}
	for i := range 20_000 {
		mustDecide(t, s, fmt.Sprint("once", i), perMinute, take(1), start)
	}
	found := 0
	for i := range 20_000 {
		key := []byte(fmt.Sprint(i))
		if s.shortcuts.find(s.hash(key), key) != nil {
			found++
		}
	}
	if found < 17_000 {
		t.Errorf("%d of 20,000 keys are found by shortcut", found)
	}
	checkStore(t, s)
}
