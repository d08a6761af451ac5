package commands

import (
	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/policy"
)

// RL.EXPLAIN client [TIER t] [ENDPOINT e] [ATTR name value ...] [COST n] [ATMOST] [PEEK]
func explainCommand() Command {
	return Command{
		Name: "rl.explain", Group: GroupDecision, Since: "0.2.0",
		Summary:    "Tells which policies RL.CHECK would ask for a request, why, and what they would answer.",
		Complexity: "O(n) in the policies that match",
		Flags:      FlagReadOnly | FlagScopes, Keys: oneKey(), Category: CategoryRead,
		Args:  checkArgs(),
		Reply: "array of maps, one a scope: scope, policy, why, candidates, decision, shadow, warnings",
		Help: []string{
			"Nothing is charged and nothing is counted.",
			"policy: the one that decides in this scope; null if only a shadow matches, and decision is null then.",
			"why: what decided between the candidates, in words.",
			"candidates: maps of policy, version and lost, why another went before it; lost is null for the pick. The most specific come first.",
			"decision: allowed, limit, remaining, wait_ms, reset_ms of this policy alone.",
			"shadow: the policy in shadow mode that is asked beside it, or null.",
			"warnings: what the operator of the policy should know.",
		},
		Run: runExplain,
	}
}

func runExplain(c *Call) error {
	var k check
	req, err := c.checkRequest(&k.about)
	if err != nil {
		return err
	}
	view, err := c.policies()
	if err != nil {
		return err
	}
	req.Peek = true
	explained := view.Explain(&k.about)
	c.W.Array(len(explained))
	for i := range explained {
		if err := k.explain(c, view, &explained[i], req); err != nil {
			return err
		}
	}
	return nil
}

// explain writes what there is to say about one scope.
func (k *check) explain(c *Call, view *policy.View, e *policy.Explanation, req limit.Request) error {
	w := c.W
	w.Map(7)
	w.BulkString("scope")
	w.BulkString(e.Scope)
	w.BulkString("policy")
	c.textOrNull(nameOf(e.Rule))
	w.BulkString("why")
	w.BulkString(e.Why)
	w.BulkString("candidates")
	w.Array(len(e.Candidates))
	for _, candidate := range e.Candidates {
		w.Map(3)
		w.BulkString("policy")
		w.BulkString(candidate.Rule.Name)
		w.BulkString("version")
		w.Int(int64(candidate.Rule.Version))
		w.BulkString("lost")
		c.textOrNull(candidate.Lost)
	}
	w.BulkString("decision")
	if err := k.peek(c, e.Rule, req); err != nil {
		return err
	}
	w.BulkString("shadow")
	c.textOrNull(nameOf(e.Shadow))
	w.BulkString("warnings")
	var warnings []string
	if e.Rule != nil {
		warnings = view.Warnings(e.Rule)
	}
	c.lines(warnings)
	return nil
}

// nameOf is the rule's name, empty for none.
func nameOf(rule *policy.Rule) string {
	if rule == nil {
		return ""
	}
	return rule.Name
}

// peek writes what the rule alone would answer, or null for none.
func (k *check) peek(c *Call, rule *policy.Rule, req limit.Request) error {
	if rule == nil {
		c.W.Null()
		return nil
	}
	ask, err := k.ask(c, rule)
	if err != nil {
		return err
	}
	err = c.serveSlot(ask.Slot)
	if _, is := away(err); is { // what it would answer is known elsewhere
		c.W.Null()
		return nil
	}
	if err != nil {
		return err
	}
	c.leaveIsolation(ask.Slot)
	var out [1]limit.Decision
	if _, err := c.policyKeyed().DecideAll([]PolicyAsk{ask}, req, c.Now, out[:]); err != nil {
		return err
	}
	c.decision(out[0])
	return nil
}
