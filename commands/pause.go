package commands

import (
	"bytes"
	"math"
	"sync"
	"sync/atomic"

	"github.com/rlserver/rlserver/resp"
)

// CLIENT PAUSE makes the commands of all clients wait, or those that may change
// a bucket, until a time or CLIENT UNPAUSE. Their connections are not read
// meanwhile.

// pause is whether clients are paused.
type pause struct {
	until atomic.Int64 // Unix nanoseconds; 0: nobody is paused
	all   atomic.Bool  // not only commands that write

	mu      sync.Mutex
	calls   uint64 // of begin and end: a timer of an earlier one says nothing
	waiting []func()
}

// begin pauses clients for at least so many nanoseconds from now on. A pause
// that lasts becomes no shorter and no weaker by another, as in Redis. after
// calls a function once so many nanoseconds have gone by.
func (p *pause) begin(now, nanos int64, all bool, after func(nanos int64, do func())) {
	p.mu.Lock()
	defer p.mu.Unlock()
	end := int64(math.MaxInt64)
	if nanos < end-now {
		end = now + nanos
	}
	if before := p.until.Load(); before > now {
		end = max(end, before)
		all = all || p.all.Load()
	}
	if end == now {
		return // nobody is paused, and nobody is to be
	}
	p.calls++
	call := p.calls
	p.all.Store(all)
	p.until.Store(end)
	after(end-now, func() { p.over(call) })
}

// over ends the pause that the call began, if no other has followed.
func (p *pause) over(call uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if call == p.calls {
		p.wake()
	}
}

// end ends any pause.
func (p *pause) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	p.wake()
}

// wake lets everybody go on. It is for who holds mu.
func (p *pause) wake() {
	p.until.Store(0)
	for _, wake := range p.waiting {
		wake()
	}
	p.waiting = nil
}

// wait calls wake when the pause is over, at once if it is.
func (p *pause) wait(wake func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until.Load() == 0 {
		wake()
		return
	}
	p.waiting = append(p.waiting, wake)
}

// paused says whether a command has to wait. What EXEC runs began before.
func (c *Call) paused(e *entry) bool {
	p := &c.d.pause
	if p.until.Load() == 0 || e.Flags&FlagUnpaused != 0 || c.S.InExec() {
		return false
	}
	return p.all.Load() || e.Flags&FlagWrite != 0 || e.Name == "exec" && c.writes
}

// postponed is a command that waits for the end of a pause.
type postponed struct {
	d    *Dispatcher
	args [][]byte
}

func (d *Dispatcher) postpone(args [][]byte) *postponed {
	copied := make([][]byte, len(args))
	for i, arg := range args {
		copied[i] = bytes.Clone(arg)
	}
	return &postponed{d, copied}
}

// Start implements resp.Pending.
func (p *postponed) Start(wake func()) { p.d.pause.wait(wake) }

// Finish implements resp.Pending.
func (p *postponed) Finish(s *resp.Session, w *resp.Writer, now int64) {
	p.d.Command(s, w, p.args, now)
}

// Unpause ends what CLIENT PAUSE began: a server that stops lets its clients
// finish.
func (d *Dispatcher) Unpause() { d.pause.end() }

// CLIENT PAUSE timeout [WRITE | ALL]
func runClientPause(c *Call) error {
	all := true
	switch {
	case len(c.Args) > 4:
		return c.subcommandSyntax()
	case len(c.Args) < 4, equalFold(c.Args[3], "ALL"):
	case equalFold(c.Args[3], "WRITE"):
		all = false
	default:
		return replyError("ERR CLIENT PAUSE mode must be WRITE or ALL")
	}
	ms, ok := parseInt(c.Args[2])
	switch {
	case !ok:
		return errTimeout
	case ms < 0:
		return errTimeoutNegative
	}
	c.d.pause.begin(c.Now, min(ms, math.MaxInt64/millisecond)*millisecond, all, c.d.cfg.After)
	c.W.Simple("OK")
	return nil
}

func runClientUnpause(c *Call) error {
	c.d.Unpause()
	c.W.Simple("OK")
	return nil
}

// CLIENT UNBLOCK id [TIMEOUT | ERROR]
//
// No command blocks as BLPOP does, so there is never anybody to unblock.
func runClientUnblock(c *Call) error {
	switch {
	case len(c.Args) > 4:
		return c.subcommandSyntax()
	case len(c.Args) == 4 && !equalFold(c.Args[3], "TIMEOUT") && !equalFold(c.Args[3], "ERROR"):
		return replyError("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
	}
	if _, ok := parseInt(c.Args[2]); !ok {
		return errNotInteger
	}
	c.W.Int(0)
	return nil
}
