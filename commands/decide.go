package commands

import (
	"slices"

	"github.com/rlserver/rlserver/limit"
)

const errOutcomeUnknown = "ERR outcome unknown: this node lost the key's slot while it decided; the request may have been charged"

// serve checks that this node may act for key's slot, and notes it for the
// check before the reply leaves.
func (c *Call) serve(key []byte) error { return c.serveSlot(c.d.cfg.Ownership.Slot(key)) }

func (c *Call) serveSlot(slot uint16) error {
	version, ok := c.d.cfg.Ownership.Serve(slot)
	if !ok {
		if c.d.cfg.Sharing != nil && !c.forAnother {
			return elsewhere(slot)
		}
		return errorCode("TRYAGAIN", "slot %d is not served by this node at the moment; nothing was charged", slot)
	}
	c.S.Decided(slot, version)
	return nil
}

// keyed is where the running command finds keys.
func (c *Call) keyed() Keyed {
	if c.held != nil {
		return c.held
	}
	return c.d.cfg.Buckets
}

// isolate keeps others away from the keys of the transaction that runs.
func (c *Call) isolate() {
	if c.held != nil || len(c.slots) == 0 {
		return
	}
	slices.Sort(c.slots)
	c.held = c.d.cfg.Buckets.Hold(c.slots)
	if c.d.cfg.PolicyBuckets != nil {
		c.within = c.d.cfg.PolicyBuckets.Within(c.held)
	}
	c.S.Isolate(func() {
		c.held.Release()
		c.held, c.within = nil, nil
	})
}

// leaveIsolation lets others in if slot is not among those that the running
// transaction holds: to wait for one while holding others could be to wait for
// ever. The next command holds the transaction's slots again.
func (c *Call) leaveIsolation(slot uint16) {
	if c.held == nil {
		return
	}
	if _, held := slices.BinarySearch(c.slots, slot); !held {
		c.S.EndIsolation()
	}
}

// onlyKey reads the one argument of a command that acts on a key, and checks
// that this node may act for it.
func (c *Call) onlyKey() ([]byte, error) {
	r := c.reader()
	key := r.key()
	if err := r.end(); err != nil {
		return nil, err
	}
	return key, c.serve(key)
}

// decide asks key's bucket, and counts the answer.
func (c *Call) decide(key []byte, spec limit.Spec, req limit.Request) (limit.Decision, error) {
	if err := c.serve(key); err != nil {
		return limit.Decision{}, err
	}
	d, err := c.keyed().Decide(key, spec, req, c.Now)
	if err != nil {
		return d, err
	}
	if !req.Peek && req.Cost > 0 {
		c.d.tally.decided(uint64(c.S.ID()), spec.Algorithm, d.Allowed > 0)
	}
	return d, nil
}

// decision writes the five integers of every decision.
func (c *Call) decision(d limit.Decision) {
	c.W.Array(5)
	c.W.Int(d.Allowed)
	c.W.Int(d.Limit)
	c.W.Int(d.Remaining)
	c.W.Int(d.WaitMS)
	c.W.Int(d.ResetMS)
}
