package commands

import "github.com/rlserver/rlserver/limit"

// RL.CHECK client [TIER t] [ENDPOINT e] [ATTR name value ...] [COST n] [ATMOST] [PEEK]
func checkCommand() Command {
	return Command{
		Name: "rl.check", Group: GroupDecision, Since: "0.2.0",
		Summary:    "Decides by the policies whether a request of client may pass, and takes its cost.",
		Complexity: "O(log n) in the policies and in the keys of one slot, for each scope",
		Flags:      FlagWrite | FlagFast | FlagScopes, Keys: oneKey(), Category: CategoryDecide,
		Args:  checkArgs(),
		Reply: "array: allowed, limit, remaining, wait_ms, reset_ms, policy, version, per_window, window_ms, source",
		Help: []string{
			"In each scope the most specific policy that matches decides; RL.EXPLAIN tells which and why.",
			"All scopes are asked together: if one denies, none is charged. The answer is the tightest: of denials the longest wait, else the least share remaining.",
			"policy, version, per_window, window_ms: the policy that binds, its version, its LIMIT and its WINDOW.",
			"No policy matches: allowed is 1, with ATMOST the cost; policy is null and all other numbers are 0.",
			"source: 0 counted, 1 a remembered denial, 2 a fallback, the largest of all scopes.",
			"TIER, ENDPOINT: an empty one is as none. ENDPOINT: METHOD /path, or /path. ATTR: at most 16, each name once.",
			"ATMOST: an error where more than one scope applies.",
			"A policy in shadow mode is asked beside what decides, and never changes the answer.",
			"The numbers of a decision are those of RL.ALLOW.",
		},
		Run: runCheck,
	}
}

func checkArgs() []Arg {
	args := append([]Arg{clientArg()}, aboutArgs()...)
	return append(args,
		Arg{Name: "n", Type: TypeInteger, Token: "COST", Optional: true},
		Arg{Name: "atmost", Type: TypeToken, Token: "ATMOST", Optional: true},
		Arg{Name: "peek", Type: TypeToken, Token: "PEEK", Optional: true},
	)
}

func runCheck(c *Call) error {
	k := c.checking()
	defer k.end()
	req, err := c.checkRequest(&k.about)
	if err != nil {
		return err
	}
	here, err := k.resolve(c, req)
	if err != nil {
		return err
	}
	if !here {
		c.checkElsewhere(k, req)
		return nil
	}
	allowed, err := k.decide(c, req)
	if err != nil {
		return err
	}
	k.count(c, req)
	k.askShadows(c, req, allowed)
	k.reply(c, req)
	return nil
}

// The sources of an answer: that of all scopes which is least sure.
const (
	sourceCounted  = 0 // the buckets' owners decided
	sourceFallback = 2 // an owner could not be asked
)

// reply writes the tightest of the answers.
func (k *check) reply(c *Call, req limit.Request) {
	w := c.W
	w.Array(10)
	if len(k.asks) == 0 {
		allowed := int64(1)
		if req.AtMost {
			allowed = req.Cost
		}
		w.Int(allowed)
		for range 4 {
			w.Int(0)
		}
		w.Null()
		for range 4 {
			w.Int(0)
		}
		return
	}
	d, rule := k.tightest()
	w.Int(d.Allowed)
	w.Int(d.Limit)
	w.Int(d.Remaining)
	w.Int(d.WaitMS)
	w.Int(d.ResetMS)
	w.BulkString(rule.Name)
	w.Int(int64(rule.Version))
	w.Int(rule.Limit)
	w.Int(rule.Window / millisecond)
	w.Int(k.source)
}
