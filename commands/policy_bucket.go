package commands

import "github.com/rlserver/rlserver/policy"

// RL.REFUND, RL.RESET and RL.INSPECT act on a key of RL.ALLOW, or with
// `POLICY name [TIER t] [ENDPOINT e] [ATTR name value ...]` on the bucket that
// the policy charges such a request of a client to.

// policyArgs are what follows the key in the POLICY form.
func policyArgs() []Arg {
	return append([]Arg{{Name: "name", Type: TypeString, Token: "POLICY", Optional: true}}, aboutArgs()...)
}

const policyFormHelp = "POLICY name: key is a client, and its bucket of that policy is meant; TIER, ENDPOINT and ATTR say what else the policy counts by."

// policyBucket reads the POLICY form, of which r has read what stands before
// POLICY, and finds the bucket, for which this node must be able to act.
func (c *Call) policyBucket(r *reader, client []byte) (*policy.Rule, PolicyAsk, error) {
	k := check{about: policy.Request{Client: client}}
	name := r.policyRequest(&k.about)
	if err := r.end(); err != nil {
		return nil, PolicyAsk{}, err
	}
	view, err := c.policies()
	if err != nil {
		return nil, PolicyAsk{}, err
	}
	rule := view.Get(string(name))
	if rule == nil {
		return nil, PolicyAsk{}, errorf("no policy is named %s; RL.POLICY.LIST lists them", quote(name))
	}
	if attr := rule.Lacks(&k.about); attr != "" {
		return nil, PolicyAsk{}, errorf("policy %s counts by %s, which is not given", quote(name), attr)
	}
	ask, err := k.ask(c, rule)
	if err != nil {
		return nil, PolicyAsk{}, err
	}
	c.leaveIsolation(ask.Slot)
	return rule, ask, c.serveSlot(ask.Slot)
}
