package commands

import (
	"bytes"
	"errors"
	"sync"

	"github.com/rlserver/rlserver/resp"
)

// keysAway is a command that counts keys, of which some are elsewhere. Each is
// asked for by itself.
type keysAway struct {
	c     *Call
	entry *entry
	keys  [][]byte
	do    func(key []byte) bool // for those that are here

	mu   sync.Mutex
	left int
	n    int64
	err  error
}

// countAway answers for how many keys do is true, wherever they are.
func (c *Call) countAway(keys [][]byte, do func(key []byte) bool) {
	p := &keysAway{c: c, entry: c.entry, do: do}
	for _, key := range keys {
		p.keys = append(p.keys, bytes.Clone(key))
	}
	c.later(p)
}

// Start implements resp.Pending.
func (p *keysAway) Start(wake func()) {
	type asked struct {
		slot     uint16
		question []byte
	}
	var all []asked
	here := p.keys[:0]
	for _, key := range p.keys {
		slot := p.c.d.cfg.Ownership.Slot(key)
		if p.c.serves(slot) {
			here = append(here, key)
			continue
		}
		all = append(all, asked{slot, runQuestion(2, p.entry, slot, [][]byte{[]byte(p.entry.full), key})})
	}
	p.keys, p.left = here, len(all)
	if len(all) == 0 { // the slots came here meanwhile
		wake()
		return
	}
	for _, a := range all {
		p.c.d.cfg.Sharing.Remote.Ask(a.slot, a.question, func(answer []byte, err error) {
			p.mu.Lock()
			switch {
			case err != nil:
				p.err = errors.Join(p.err, err)
			case bytes.Equal(answer, []byte(":1\r\n")):
				p.n++
			case !bytes.Equal(answer, []byte(":0\r\n")):
				p.err = errors.Join(p.err, errNotMine)
			}
			p.left--
			last := p.left == 0
			p.mu.Unlock()
			if last {
				wake()
			}
		})
	}
}

// Finish implements resp.Pending.
func (p *keysAway) Finish(_ *resp.Session, w *resp.Writer, now int64) {
	c := p.c
	c.finishing(p.entry, w, now)
	for _, key := range p.keys {
		if err := c.serve(key); err != nil {
			p.err = errors.Join(p.err, err)
			continue
		}
		p.n += bit(p.do(key))
	}
	if p.err != nil {
		c.entry.stats.failed.Add(1)
		c.fail(errorCode("TRYAGAIN", "some of the keys' nodes cannot be asked now; what was done with the others stays done"))
		return
	}
	w.Int(p.n)
}
