package commands

import "github.com/rlserver/rlserver/limit"

// CL.THROTTLE key max_burst count period [quantity]
//
// redis-cell's command, reply and rounding, so that its users can move by
// changing a host name.
func throttleCommand() Command {
	return Command{
		Name: "cl.throttle", Group: GroupDecision, Since: "0.1.0",
		Summary:    "Decides as redis-cell does: a token bucket in whole seconds.",
		Complexity: "O(log n) in the keys of one slot",
		Flags:      FlagWrite | FlagFast, Keys: oneKey(), Category: CategoryDecide,
		Args: []Arg{
			{Name: "key", Type: TypeKey},
			{Name: "max_burst", Type: TypeInteger},
			{Name: "count", Type: TypeInteger},
			{Name: "period", Type: TypeInteger},
			{Name: "quantity", Type: TypeInteger, Optional: true},
		},
		Reply: "array of 5 integers: limited 0 or 1, max_burst + 1, remaining, retry_after in seconds (-1 when allowed), reset in seconds",
		Help: []string{
			"The bucket is that of RL.ALLOW key count period max_burst+1.",
			"quantity: units the request takes, default 1; 0 only looks.",
			"Both times are rounded up to whole seconds. retry_after is -1 also where no wait would help.",
		},
		Run: runThrottle,
	}
}

func runThrottle(c *Call) error {
	r := c.reader()
	key := r.key()
	burst := r.integer("max_burst", 0, limit.MaxUnits-1) + 1
	count := r.units("count", 1)
	period := r.integer("period", 1, limit.MaxWindow/second)
	req := limit.Request{Cost: 1}
	if r.more() {
		req.Cost = r.units("quantity", 0)
	}
	if err := r.end(); err != nil {
		return err
	}
	spec, err := c.d.cfg.Bounds.Spec(limit.TokenBucket, count, period*second, burst)
	if err != nil {
		return err
	}
	return c.decideThen(key, spec, req, (*Call).throttled)
}

// throttled writes the five integers of redis-cell.
func (c *Call) throttled(d limit.Decision) {
	limited, retryAfter := int64(0), int64(-1)
	if d.Allowed == 0 {
		limited = 1
		if d.WaitMS >= 0 {
			retryAfter = wholeSeconds(d.WaitMS)
		}
	}
	c.W.Array(5)
	c.W.Int(limited)
	c.W.Int(d.Limit)
	c.W.Int(d.Remaining)
	c.W.Int(retryAfter)
	c.W.Int(wholeSeconds(d.ResetMS))
}

// second is one second in nanoseconds.
const second = 1_000_000_000

// wholeSeconds rounds milliseconds up.
func wholeSeconds(ms int64) int64 { return (ms + 999) / 1000 }
