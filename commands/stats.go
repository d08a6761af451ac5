package commands

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/policy"
)

// lanes spread a busy counter so that cores do not fight over one line.
const lanes = 8

// counter is a count that many sessions raise at once.
type counter [lanes]struct {
	n atomic.Uint64
	_ [56]byte // a cache line each
}

// add counts one, and returns how many there were in this lane.
func (c *counter) add(lane uint64) uint64 { return c[lane%lanes].n.Add(1) }

func (c *counter) load() (sum uint64) {
	for i := range c {
		sum += c[i].n.Load()
	}
	return sum
}

func (c *counter) reset() {
	for i := range c {
		c[i].n.Store(0)
	}
}

type commandStats struct {
	calls    counter
	times    runTimes
	rejected atomic.Uint64 // before it ran: arity, access
	failed   atomic.Uint64 // it ran, and answered an error
}

// maxErrorCodes bounds the table of error codes: clients can provoke new
// texts, and must not be able to provoke new counters.
const maxErrorCodes = 32

// tally counts what was answered.
type tally struct {
	outcomes [lanes]struct {
		n [2][limit.AlgorithmCount]atomic.Uint64
		_ [48]byte
	}
	unknown atomic.Uint64 // decisions replaced because the slot was lost
	over    [bounds]atomic.Uint64
	// Units that stay taken though the request was denied, in requests.
	lostGiveBacks atomic.Uint64
	fell          [policy.OnErrorError + 1]atomic.Uint64 // fallbacks, by what they answer

	mu     sync.Mutex
	errors map[string]uint64 // by code
}

func (t *tally) decided(lane uint64, a limit.Algorithm, allowed bool) {
	outcome := 0
	if allowed {
		outcome = 1
	}
	t.outcomes[lane%lanes].n[outcome][a].Add(1)
}

func (t *tally) countError(text string) {
	code, _, _ := strings.Cut(text, " ")
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.errors == nil {
		t.errors = make(map[string]uint64)
	}
	if _, known := t.errors[code]; known || len(t.errors) < maxErrorCodes {
		t.errors[code]++
	}
}

// errorTotal is the number of error replies.
func (t *tally) errorTotal() (sum uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range t.errors {
		sum += n
	}
	return sum
}

// errorLines are the lines of INFO errorstats.
func (t *tally) errorLines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := make([]string, 0, len(t.errors))
	for code, n := range t.errors {
		lines = append(lines, "errorstat_"+code+":count="+strconv.FormatUint(n, 10)+"\r\n")
	}
	slices.Sort(lines)
	return lines
}

// resetStats forgets the counters of commands and errors. Decisions go on
// counting: who watches them wants no holes.
func (d *Dispatcher) resetStats() {
	for _, e := range d.entries {
		e.stats.calls.reset()
		e.stats.times.reset()
		e.stats.rejected.Store(0)
		e.stats.failed.Store(0)
	}
	d.tally.mu.Lock()
	defer d.tally.mu.Unlock()
	clear(d.tally.errors)
}

// rate measures commands per second between calls of INFO.
type rate struct {
	mu    sync.Mutex
	at    int64
	count uint64
	last  uint64
}

// perSecond is the rate since the last time that lies at least a second back.
func (r *rate) perSecond(now int64, count uint64) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch elapsed := now - r.at; {
	case r.at == 0 || count < r.count:
		r.at, r.count, r.last = now, count, 0
	case elapsed >= second:
		r.last = (count - r.count) * 1000 / uint64(elapsed/millisecond)
		r.at, r.count = now, count
	}
	return r.last
}

// Outcomes counts decisions; probes are not among them.
type Outcomes struct{ Allowed, Denied uint64 }

// Decisions returns how many decisions were made, by algorithm.
func (d *Dispatcher) Decisions() [limit.AlgorithmCount]Outcomes {
	var sums [limit.AlgorithmCount]Outcomes
	for i := range d.tally.outcomes {
		lane := &d.tally.outcomes[i]
		for a := range sums {
			sums[a].Denied += lane.n[0][a].Load()
			sums[a].Allowed += lane.n[1][a].Load()
		}
	}
	return sums
}
