package commands

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/policy"
	"github.com/rlserver/rlserver/resp"
)

// elsewhere is the error of a command for a slot that another node serves.
type elsewhere uint16

func (e elsewhere) Error() string {
	return errorCode("TRYAGAIN", "slot %d is not served by this node at the moment; nothing was charged", uint16(e)).Error()
}

// away is the slot that another node must be asked about, if err says so.
func away(err error) (slot uint16, is bool) {
	e, is := errors.AsType[elsewhere](err)
	return uint16(e), is
}

func appendNumber(b []byte, n uint64) []byte { return binary.AppendUvarint(b, n) }

// later lets commands behind this one run before another node has answered it.
func (c *Call) later(p resp.Pending) { c.S.Defer(p) }

// finishing makes the Call that of a command that waited.
func (c *Call) finishing(e *entry, w *resp.Writer, now int64) {
	c.entry, c.W, c.Now = e, w, now
}

// decideThen asks key's bucket, wherever it is, and then writes the reply.
func (c *Call) decideThen(key []byte, spec limit.Spec, req limit.Request, reply func(*Call, limit.Decision)) error {
	d, err := c.decide(key, spec, req)
	if slot, is := away(err); is {
		if err := c.moved(c.entry, c.Args); err != nil {
			return err
		}
		q := question{asks: []PolicyAsk{{Slot: slot, Key: bytes.Clone(key), Spec: spec}}, req: req}
		c.later(&decisionAway{c: c, entry: c.entry, question: q, reply: reply})
		return nil
	}
	if err != nil {
		return err
	}
	reply(c, d)
	return nil
}

// decisionAway is a decision that the owner of the key makes.
type decisionAway struct {
	c        *Call
	entry    *entry
	question question
	reply    func(*Call, limit.Decision)

	out [1]limit.Decision
	err error
}

// Start implements resp.Pending.
func (p *decisionAway) Start(wake func()) {
	p.c.d.cfg.Sharing.Remote.Ask(p.question.asks[0].Slot, p.question.encode(questionAsk), func(answer []byte, err error) {
		if err == nil {
			err = readDecisions(answer, p.out[:])
		}
		p.err = err
		wake()
	})
}

// Finish implements resp.Pending.
func (p *decisionAway) Finish(_ *resp.Session, w *resp.Writer, now int64) {
	c, ask, req := p.c, &p.question.asks[0], p.question.req
	c.finishing(p.entry, w, now)
	if p.err != nil {
		how := c.d.cfg.Sharing.OnError
		c.d.fell(how, p.err)
		d, err := c.d.fallback(how, ask.Key, ask.Spec, req, now, p.err)
		if err != nil {
			c.entry.stats.failed.Add(1)
			c.fail(err)
			return
		}
		p.out[0] = d
	}
	if charges(req) {
		c.d.tally.decided(uint64(c.S.ID()), ask.Spec.Algorithm, p.out[0].Allowed > 0)
	}
	p.reply(c, p.out[0])
}

// fallback answers for a node that cannot be asked, or whose answer was lost.
func (d *Dispatcher) fallback(how policy.OnError, key []byte, spec limit.Spec, req limit.Request, now int64, why error) (limit.Decision, error) {
	capacity := spec.Capacity()
	closed := limit.Decision{Limit: capacity, WaitMS: closedWait, ResetMS: closedWait}
	switch how {
	case policy.OnErrorOpen:
		passes := int64(1)
		if req.AtMost {
			passes = req.Cost
		}
		return limit.Decision{Allowed: passes, Limit: capacity, Remaining: capacity}, nil
	case policy.OnErrorClosed:
		return closed, nil
	case policy.OnErrorError:
		return limit.Decision{}, unasked(why)
	case policy.OnErrorDefault, policy.OnErrorLocal:
	}
	if req.Cost > capacity && !req.AtMost {
		closed.WaitMS = -1
		return closed, nil
	}
	share := shareOf(spec, d.cfg.Sharing.Nodes())
	if req.Cost > share.Burst && !req.AtMost {
		return closed, nil
	}
	return d.cfg.Sharing.Fallback.Decide(key, share, req, now)
}

// closedWait is after how many milliseconds one that was denied by a fallback
// may ask again.
const closedWait = 100

// unasked is the error of a request whose owner did not answer.
func unasked(why error) error {
	if errors.Is(why, ErrNotAsked) {
		return errorCode("TRYAGAIN", "%s; nothing was charged", why)
	}
	return errorf("outcome unknown: the node that counts this key did not answer; the request may have been charged")
}

// shareOf is a node's share of a limit: as much as all may pass, divided by
// their number.
func shareOf(spec limit.Spec, nodes int64) limit.Spec {
	nodes = max(nodes, 1)
	share := limit.Spec{Limit: spec.Limit, Window: spec.Window * nodes, Burst: max(1, spec.Capacity()/nodes)}
	if spec.Algorithm == limit.LeakyBucket {
		share.Algorithm = limit.LeakyBucket
	}
	if share.Window/nodes != spec.Window || share.Window > limit.MaxWindow {
		share.Window = limit.MaxWindow
	}
	return share
}

// fell counts a fallback.
func (d *Dispatcher) fell(how policy.OnError, why error) {
	if !errors.Is(why, ErrNotAsked) {
		d.tally.unknown.Add(1)
	}
	d.tally.fell[how].Add(1)
	if d.cfg.Events.Fallback != nil {
		d.cfg.Events.Fallback(how, why)
	}
}

// forward runs the command on the node that serves a slot.
func (c *Call) forward(e *entry, slot uint16) {
	c.later(&commandAway{c: c, entry: e, slot: slot, question: runQuestion(c.S.Proto(), e, slot, c.Args)})
}

// commandAway is a command that another node runs.
type commandAway struct {
	c        *Call
	entry    *entry
	slot     uint16
	question []byte

	reply []byte
	err   error
}

// Start implements resp.Pending.
func (p *commandAway) Start(wake func()) {
	p.c.d.cfg.Sharing.Remote.Ask(p.slot, p.question, func(answer []byte, err error) {
		p.reply, p.err = bytes.Clone(answer), err
		wake()
	})
}

// Finish implements resp.Pending.
func (p *commandAway) Finish(_ *resp.Session, w *resp.Writer, now int64) {
	c := p.c
	c.finishing(p.entry, w, now)
	if p.err != nil {
		c.entry.stats.failed.Add(1)
		c.fail(unasked(p.err))
		return
	}
	w.Raw(p.reply)
}
