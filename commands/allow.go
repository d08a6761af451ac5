package commands

import "github.com/rlserver/rlserver/limit"

// RL.ALLOW key limit window [burst] [ALGO name] [COST n] [ATMOST] [PEEK]
func allowCommand() Command {
	return Command{
		Name: "rl.allow", Group: GroupDecision, Since: "0.1.0",
		Summary:    "Decides whether a request on key may pass, and takes its cost.",
		Complexity: "O(log n) in the keys of one slot; sliding-log: also O(log m) in its entries",
		Flags:      FlagWrite | FlagFast, Keys: oneKey(), Category: CategoryDecide,
		Args: []Arg{
			{Name: "key", Type: TypeKey},
			{Name: "limit", Type: TypeInteger},
			{Name: "window", Type: TypeString},
			{Name: "burst", Type: TypeInteger, Optional: true},
			{Name: "name", Type: TypeString, Token: "ALGO", Optional: true},
			{Name: "n", Type: TypeInteger, Token: "COST", Optional: true},
			{Name: "atmost", Type: TypeToken, Token: "ATMOST", Optional: true},
			{Name: "peek", Type: TypeToken, Token: "PEEK", Optional: true},
		},
		Reply: "array of 5 integers: allowed, limit, remaining, wait_ms, reset_ms",
		Help: []string{
			"limit units are earned per window; at most burst (default: limit) pass at once.",
			"window: one whole number and a unit in small letters, 1500ms, 1s, 5m, 1h, 1d, or of seconds; 1ms to 366d.",
			"ALGO: token-bucket (default), leaky-bucket, sliding-log, sliding-window, fixed-window.",
			"COST n: the request takes n units, 0 to 1000000000000 (default 1); COST 0 only looks.",
			"ATMOST: grants as many of the n units as there are; allowed is their number.",
			"PEEK: answers what the request would get, and takes nothing.",
			"allowed: 1 or 0. limit: the capacity. remaining: whole units that could pass now.",
			"wait_ms: of a denial, when the same request is allowed; -1: never, since the cost is above the capacity.",
			"wait_ms: of an allowed request 0, with leaky-bucket the time until its turn.",
			"reset_ms: after it the key is as new. Both are rounded up.",
			"A denial is a normal reply, never an error, and charges nothing.",
		},
		Run: runAllow,
	}
}

func runAllow(c *Call) error {
	r := c.reader()
	key := r.key()
	units := r.units("limit", 1)
	window := r.window()
	var burst int64
	if r.isNumber() {
		burst = r.units("burst", 0)
	}
	algorithm, req := limit.TokenBucket, limit.Request{Cost: 1}
	for r.more() {
		switch r.option("ALGO", "COST", "ATMOST", "PEEK") {
		case "ALGO":
			algorithm = r.algorithm()
		case "COST":
			req.Cost = r.units("COST", 0)
		case "ATMOST":
			req.AtMost = true
		case "PEEK":
			req.Peek = true
		}
	}
	if err := r.end(); err != nil {
		return err
	}
	spec, err := c.spec(algorithm, units, window, burst)
	if err != nil {
		return err
	}
	if err := req.Check(); err != nil {
		return err
	}
	return c.decideThen(key, spec, req, (*Call).decision)
}
