package commands

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rlserver/rlserver/limit"
)

// lanes spread a busy counter so that cores do not fight over one line.
const lanes = 8

// counter is a count that many sessions raise at once.
type counter [lanes]struct {
	n atomic.Uint64
	_ [56]byte // a cache line each
}

func (c *counter) add(lane uint64) { c[lane%lanes].n.Add(1) }

func (c *counter) load() (sum uint64) {
	for i := range c {
		sum += c[i].n.Load()
	}
	return sum
}

type commandStats struct {
	calls    counter
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
