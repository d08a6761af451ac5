package state

import (
	"math/bits"
	"sync/atomic"
)

// shortcuts is a cache in front of the trees: it finds most entries with two
// cache misses, its own line and the entry, where a slot, its tree's node,
// the node's items and the entry would be five, one after the other. At a
// million keys those misses are most of what a decision costs.
//
// It is only a hint. Whoever finds an entry here locks the slot of the key
// and looks whether the entry is gone; what is not found here is looked for
// in the tree. So lines are read and written without a lock, writers may
// overwrite each other's halves, and the table may be replaced by an empty
// one at any time. The worst that comes of it is a way that is not found.
type shortcuts struct {
	table atomic.Pointer[shortcutTable]
}

type shortcutTable struct{ lines []shortcutLine }

// shortcutLine is one cache line: seven entries, and for each a byte of its
// key's hash.
type shortcutLine struct {
	tags    atomic.Uint64 // byte i: the tag of entries[i]; byte 7: where to write next
	entries [shortcutWays]atomic.Pointer[entry]
}

const (
	shortcutWays     = 7
	minShortcutLines = 1 << 10
)

// line is the line of a hash: its high bits choose it. Its low byte is the tag.
func (t *shortcutTable) line(h uint64) *shortcutLine {
	i, _ := bits.Mul64(h, uint64(len(t.lines)))
	return &t.lines[i]
}

// find returns an entry of this key that may be gone, or nil.
func (c *shortcuts) find(h uint64, key []byte) *entry {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	line := c.table.Load().line(h)
	// A zero byte of diff is a way to look at. The formula may find too many.
	diff := line.tags.Load() ^ h&0xff*ones
	for zeros := (diff - ones) &^ diff & (highs >> 8); zeros != 0; zeros &= zeros - 1 {
		way := bits.TrailingZeros64(zeros) / 8
		if e := line.entries[way].Load(); e != nil && e.key == string(key) {
			return e
		}
	}
	return nil
}

// put makes e, whose hash is h, likely to be found. The caller holds the lock
// of e's slot, and e is not gone.
func (c *shortcuts) put(h uint64, e *entry) {
	line := c.table.Load().line(h)
	tags := line.tags.Load()
	way := tags >> 56
	line.entries[way].Store(e)
	tags = tags&^(0xff<<(8*way)|0xff<<56) | h&0xff<<(8*way) | (way+1)%shortcutWays<<56
	line.tags.Store(tags)
}

// drop lets go of e, which is gone, so that it can be collected.
func (c *shortcuts) drop(h uint64, e *entry) {
	line := c.table.Load().line(h)
	for i := range line.entries {
		line.entries[i].CompareAndSwap(e, nil)
	}
}

// fit gives a table of another size room for so many keys. The new one is
// empty and fills as keys are asked for.
func (c *shortcuts) fit(keys int64) {
	if t := c.table.Load(); t != nil {
		most := int64(len(t.lines) * shortcutWays)
		if keys <= most && (keys >= most/2 || len(t.lines) == minShortcutLines) {
			return
		}
	}
	lines := max(int(keys+keys/8)/shortcutWays, minShortcutLines)
	c.table.Store(&shortcutTable{lines: make([]shortcutLine, lines)})
}
