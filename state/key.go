package state

import "unsafe"

// newEntry returns an entry with a copy of key. A short key's bytes stand
// right behind its entry, in the same allocation: a decision compares them,
// and a cache line of their own costs as much as any other step of it.
//
// This is the only use of unsafe: a string over an array that nobody writes
// any more, and that lives as long as the string or the entry points into it.
func newEntry(key []byte) *entry {
	switch n := len(key); {
	case n == 0:
		return &entry{}
	case n <= 16:
		e := new(struct {
			entry
			key [16]byte
		})
		copy(e.key[:], key)
		e.entry.key = unsafe.String(&e.key[0], n)
		return &e.entry
	case n <= 32:
		e := new(struct {
			entry
			key [32]byte
		})
		copy(e.key[:], key)
		e.entry.key = unsafe.String(&e.key[0], n)
		return &e.entry
	default:
		return &entry{key: string(key)}
	}
}
