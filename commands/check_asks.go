package commands

import (
	"slices"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/policy"
)

// check is what one RL.CHECK works with: kept by its Call, so that the next
// allocates nothing.
type check struct {
	about   policy.Request
	picks   []policy.Pick
	rules   []*policy.Rule // that decide
	asks    []PolicyAsk    // of rules
	out     []limit.Decision
	answers []policy.Answer // of rules, with their scopes
	shadows []*policy.Rule
	shaded  []PolicyAsk // of shadows
	shade   [1]limit.Decision
	source  int64
	names   []byte // of the buckets, and what their slots are computed of
}

const errNoPolicies = replyError("ERR this server has no policies; RL.ALLOW takes its limits with the request")

// policies is the set as this node knows it.
func (c *Call) policies() (*policy.View, error) {
	if c.d.cfg.Policies == nil {
		return nil, errNoPolicies
	}
	return c.d.cfg.Policies.View(), nil
}

// policyKeyed is where the running command finds policies' buckets.
func (c *Call) policyKeyed() PolicyKeyed {
	if c.within != nil {
		return c.within
	}
	return c.d.cfg.PolicyBuckets
}

// checking is what the running RL.CHECK works with. The caller ends it.
func (c *Call) checking() *check {
	if c.check == nil {
		c.check = &check{}
	}
	return c.check
}

// end lets go of the words of the request and of the policies. What it keeps
// is room.
func (k *check) end() {
	clear(k.about.Attrs)
	clear(k.picks)
	clear(k.rules)
	clear(k.shadows)
	k.about = policy.Request{Attrs: k.about.Attrs[:0]}
	k.picks, k.rules, k.asks, k.out, k.answers = k.picks[:0], k.rules[:0], k.asks[:0], k.out[:0], k.answers[:0]
	k.shadows, k.shaded, k.names = k.shadows[:0], k.shaded[:0], k.names[:0]
}

// resolve finds the buckets that the request meets, and says whether this node
// may act for all that decide; shadows elsewhere are left out.
func (k *check) resolve(c *Call, req limit.Request) (here bool, err error) {
	view, err := c.policies()
	if err != nil {
		return false, err
	}
	k.picks = view.Resolve(&k.about, k.picks)
	for i := range k.picks {
		pick := &k.picks[i]
		if pick.Rule != nil {
			if req.AtMost && len(k.rules) > 0 {
				return false, errorf("ATMOST is for one scope, and here apply %s and %s", quote([]byte(k.rules[0].ScopeName())), quote([]byte(pick.Scope)))
			}
			ask, err := k.ask(c, pick.Rule)
			if err != nil {
				return false, err
			}
			k.rules, k.asks = append(k.rules, pick.Rule), append(k.asks, ask)
			k.answers = append(k.answers, policy.Answer{Scope: pick.Scope})
		}
		if pick.Shadow != nil {
			if ask, err := k.ask(c, pick.Shadow); err == nil && c.serves(ask.Slot) {
				k.shadows, k.shaded = append(k.shadows, pick.Shadow), append(k.shaded, ask)
			}
		}
	}
	here = true
	for i := range k.asks {
		err := c.serveSlot(k.asks[i].Slot)
		if _, is := away(err); is {
			here = false
		} else if err != nil {
			return false, err
		}
		c.leaveIsolation(k.asks[i].Slot)
	}
	for i := range k.shaded {
		c.leaveIsolation(k.shaded[i].Slot)
	}
	return here, nil
}

// ask names the rule's bucket for the request.
func (k *check) ask(c *Call, rule *policy.Rule) (PolicyAsk, error) {
	from := len(k.names)
	k.names = rule.Home(k.names, &k.about)
	slot := c.d.cfg.Ownership.Slot(k.names[from:])
	from = len(k.names)
	k.names = rule.Bucket(k.names, &k.about)
	key := k.names[from:len(k.names):len(k.names)]
	if len(key) > maxIdentity {
		return PolicyAsk{}, errorf("what policy %s counts by is %d bytes long, at most %d are allowed", quote([]byte(rule.Name)), len(key), maxIdentity)
	}
	return PolicyAsk{Slot: slot, Key: key, Spec: rule.Spec, Strict: rule.Strict()}, nil
}

// serves says whether this node may decide for slot now.
func (c *Call) serves(slot uint16) bool {
	_, ok := c.d.cfg.Ownership.Serve(slot)
	return ok
}

// decide asks all buckets together.
func (k *check) decide(c *Call, req limit.Request) (allowed bool, err error) {
	if len(k.asks) == 0 {
		return true, nil
	}
	k.out = slices.Grow(k.out, len(k.asks))[:len(k.asks)]
	allowed, err = c.policyKeyed().DecideAll(k.asks, req, c.Now, k.out)
	for i := range k.answers {
		k.answers[i].Decision = k.out[i]
	}
	return allowed, err
}

// count notes what the buckets answered, if units were asked for.
func (k *check) count(c *Call, req limit.Request) {
	if !charges(req) || len(k.asks) == 0 {
		return
	}
	for i, rule := range k.rules {
		c.d.counts.decided(rule.Name, k.out[i].Allowed == 0)
	}
	d, rule := k.tightest()
	c.d.tally.decided(uint64(c.S.ID()), rule.Spec.Algorithm, d.Allowed > 0)
}

// charges says whether a request that is admitted takes units.
func charges(req limit.Request) bool { return req.Cost > 0 && !req.Peek }

// askShadows asks the policies that are tried out, each alone: charged if the
// request passes and they would let it, and counted if they would not. What
// they answer, errors too, stays here.
func (k *check) askShadows(c *Call, req limit.Request, allowed bool) {
	if !charges(req) {
		return
	}
	req.Peek = !allowed
	if req.AtMost && allowed && len(k.out) > 0 {
		req.Cost = k.out[0].Allowed // what passes
	}
	for i, rule := range k.shadows {
		if _, err := c.policyKeyed().DecideAll(k.shaded[i:i+1], req, c.Now, k.shade[:]); err == nil {
			c.d.counts.shadowed(rule.Name, k.shade[0].Allowed == 0)
		}
	}
}

// tightest is the answer that binds, and its rule. A request that passes has
// to wait for the last of its turns.
func (k *check) tightest() (limit.Decision, *policy.Rule) {
	i := policy.Tightest(k.answers)
	d := k.out[i]
	if d.Allowed > 0 {
		for _, other := range k.out {
			d.WaitMS = max(d.WaitMS, other.WaitMS)
		}
	}
	return d, k.rules[i]
}
