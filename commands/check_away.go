package commands

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/policy"
	"github.com/rlserver/rlserver/resp"
)

// checkAway is an RL.CHECK of which some buckets are counted by other nodes.
// Where one node has all, it decides. Else all are asked first without taking;
// only if all would allow it units are taken, owner by owner in the order of
// their slots. One that refuses then, since another request came between, makes
// those before it give back. A unit whose give-back is lost stays taken.
type checkAway struct {
	c     *Call
	entry *entry
	k     check // rules, asks and answers; its own
	req   limit.Request
	now   int64
	parts []*part
	wake  func()
	left  atomic.Int32

	late   bool  // it was refused after all had allowed it
	failed error // what the client is told instead
}

// part is the buckets of one owner.
type part struct {
	owner   string // empty: they are here
	of      []int  // in k.asks
	err     error  // the owner cannot be asked: the fallback decides
	charged bool
	slots   []resp.Decided // of those here, when they were charged
}

// lateWait is after how many milliseconds at most one may ask again who was
// refused though all had allowed it.
const lateWait = 100

// checkElsewhere waits for the owners of k's buckets.
func (c *Call) checkElsewhere(k *check, req limit.Request) {
	p := &checkAway{c: c, entry: c.entry, req: req, now: c.Now}
	p.k.rules = slices.Clone(k.rules)
	p.k.answers = slices.Clone(k.answers)
	p.k.shadows = slices.Clone(k.shadows)
	for _, list := range []struct{ from, to *[]PolicyAsk }{{&k.asks, &p.k.asks}, {&k.shaded, &p.k.shaded}} {
		for _, ask := range *list.from {
			ask.Key = bytes.Clone(ask.Key)
			*list.to = append(*list.to, ask)
		}
	}
	p.k.out = make([]limit.Decision, len(p.k.asks))
	c.later(p)
}

// Start implements resp.Pending.
func (p *checkAway) Start(wake func()) {
	p.wake = wake
	p.divide()
	if len(p.parts) == 1 {
		p.take(0)
		return
	}
	peek := p.req
	peek.Peek = true
	p.left.Store(int32(len(p.parts)))
	for _, part := range p.parts {
		p.ask(part, peek, func() {
			if p.left.Add(-1) == 0 {
				p.asked()
			}
		})
	}
}

// divide finds who counts what.
func (p *checkAway) divide() {
	for i := range p.k.asks {
		slot, owner := p.k.asks[i].Slot, ""
		if !p.c.serves(slot) {
			owner = "at " + p.c.d.cfg.Ownership.Owner(slot)
		}
		at := slices.IndexFunc(p.parts, func(part *part) bool { return part.owner == owner })
		if at < 0 {
			at = len(p.parts)
			p.parts = append(p.parts, &part{owner: owner})
		}
		p.parts[at].of = append(p.parts[at].of, i)
	}
	first := func(part *part) int {
		least := int(maxSlot)
		for _, i := range part.of {
			least = min(least, int(p.k.asks[i].Slot))
		}
		return least
	}
	slices.SortFunc(p.parts, func(a, b *part) int {
		if n := first(a) - first(b); n != 0 {
			return n
		}
		return strings.Compare(a.owner, b.owner)
	})
}

// ask asks one owner, and calls then when it has answered or cannot be asked.
func (p *checkAway) ask(part *part, req limit.Request, then func()) {
	q := question{policies: true, req: req}
	for _, i := range part.of {
		q.asks = append(q.asks, p.k.asks[i])
	}
	out := make([]limit.Decision, len(part.of))
	done := func(err error) {
		if err != nil {
			part.err = err
			err = p.instead(part, req, out)
		}
		if err != nil {
			p.failed = err
		}
		for n, i := range part.of {
			p.k.out[i] = out[n]
		}
		then()
	}
	switch {
	case part.err != nil: // it could not be asked before
		done(part.err)
	case part.owner == "":
		done(p.askHere(part, &q, out))
	default:
		p.c.d.cfg.Sharing.Remote.Ask(q.asks[0].Slot, q.encode(questionAsk), func(answer []byte, err error) {
			if err == nil {
				err = readDecisions(answer, out)
			}
			done(err)
		})
	}
}

// askHere asks this node's buckets.
func (p *checkAway) askHere(part *part, q *question, out []limit.Decision) error {
	part.slots = part.slots[:0]
	for i := range q.asks {
		version, ok := p.c.d.cfg.Ownership.Serve(q.asks[i].Slot)
		if !ok {
			return ErrNotAsked
		}
		part.slots = append(part.slots, resp.Decided{Slot: q.asks[i].Slot, Version: version})
	}
	_, err := p.c.d.cfg.PolicyBuckets.DecideAll(q.asks, q.req, p.now, out)
	return err
}

// instead decides for an owner that cannot be asked, as each policy says.
func (p *checkAway) instead(part *part, req limit.Request, out []limit.Decision) (err error) {
	d := p.c.d
	for n, i := range part.of {
		how := p.k.rules[i].OnError
		if how == policy.OnErrorDefault {
			how = d.cfg.Sharing.OnError
		}
		if !req.Peek || len(p.parts) == 1 {
			d.fell(how, part.err)
		}
		one, failed := d.fallback(how, p.k.asks[i].Key, p.k.asks[i].Spec, req, p.now, part.err)
		out[n], err = one, errors.Join(err, failed)
	}
	return err
}

// asked goes on when all have said what they would answer.
func (p *checkAway) asked() {
	if p.failed != nil || p.denied(p.parts...) || !charges(p.req) {
		p.wake()
		return
	}
	p.take(0)
}

// denied says whether one of these owners denies.
func (p *checkAway) denied(parts ...*part) bool {
	for _, part := range parts {
		for _, i := range part.of {
			if p.k.out[i].Allowed == 0 {
				return true
			}
		}
	}
	return false
}

// take takes units of one owner's buckets, and then of the next one's.
func (p *checkAway) take(at int) {
	if at == len(p.parts) {
		p.wake()
		return
	}
	part := p.parts[at]
	p.ask(part, p.req, func() {
		if p.failed != nil || p.denied(part) {
			p.late = at > 0
			p.giveBack(p.parts[:at])
			p.wake()
			return
		}
		part.charged = true
		p.take(at + 1)
	})
}

// giveBack gives back what was taken. Nobody waits for it.
func (p *checkAway) giveBack(parts []*part) {
	for _, part := range parts {
		if !part.charged || part.err != nil {
			continue
		}
		part.charged = false
		q := question{policies: true, req: limit.Request{Cost: p.req.Cost}}
		for _, i := range part.of {
			q.asks = append(q.asks, p.k.asks[i])
		}
		if part.owner == "" {
			_ = p.c.d.giveBack(&q, p.now)
			continue
		}
		p.c.d.cfg.Sharing.Remote.Ask(q.asks[0].Slot, q.encode(questionGiveBack), func(_ []byte, err error) {
			if err != nil {
				p.c.d.tally.lostGiveBacks.Add(1)
			}
		})
	}
}

// Finish implements resp.Pending.
func (p *checkAway) Finish(_ *resp.Session, w *resp.Writer, now int64) {
	c, k := p.c, &p.k
	c.finishing(p.entry, w, now)
	if p.failed != nil {
		c.entry.stats.failed.Add(1)
		c.fail(p.failed)
		return
	}
	for _, part := range p.parts {
		if part.err != nil {
			k.source = sourceFallback
		}
		if part.owner == "" && part.err == nil {
			for _, s := range part.slots {
				c.S.Decided(s.Slot, s.Version)
			}
		}
	}
	for i := range k.answers {
		if p.late && k.out[i].Allowed == 0 {
			k.out[i].WaitMS = min(k.out[i].WaitMS, lateWait)
		}
		k.answers[i].Decision = k.out[i]
	}
	k.count(c, p.req)
	k.askShadows(c, p.req, !p.denied(p.parts...))
	k.reply(c, p.req)
}
