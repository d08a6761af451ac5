package commands

import (
	"slices"
	"strings"
)

// CommandCount is what INFO commandstats counts of one command.
type CommandCount struct {
	Name     string // as in error texts: `client|list`
	Calls    uint64
	Rejected uint64 // before it ran: arity, access
	Failed   uint64 // it ran, and answered an error
}

// CommandCounts returns the counters of every command, subcommands and aliases
// included, by name. CONFIG RESETSTAT sets them to 0.
func (d *Dispatcher) CommandCounts() []CommandCount {
	counts := make([]CommandCount, len(d.entries))
	for i, e := range d.entries {
		counts[i] = CommandCount{e.full, e.stats.calls.load(), e.stats.rejected.Load(), e.stats.failed.Load()}
	}
	return counts
}

// Refusals counts requests that were answered an error though they were well
// formed.
type Refusals struct {
	KeysTooLong  uint64 // a key, or what becomes part of one, over MaxKey
	LogsTooLarge uint64 // a sliding-log over Bounds.MaxLog
	Replaced     uint64 // decisions whose outcome is unknown: the slot was lost before the reply left
}

// Refusals returns what was refused since the start.
func (d *Dispatcher) Refusals() Refusals {
	return Refusals{
		KeysTooLong:  d.tally.over[boundKey].Load(),
		LogsTooLarge: d.tally.over[boundLog].Load(),
		Replaced:     d.tally.unknown.Load(),
	}
}

// ErrorCount is what INFO errorstats counts of one code.
type ErrorCount struct {
	Code string // the first word of the reply
	N    uint64
}

// ErrorCounts returns the error replies by code, sorted; at most
// maxErrorCodes of them. CONFIG RESETSTAT forgets them.
func (d *Dispatcher) ErrorCounts() []ErrorCount {
	d.tally.mu.Lock()
	defer d.tally.mu.Unlock()
	counts := make([]ErrorCount, 0, len(d.tally.errors))
	for code, n := range d.tally.errors {
		counts = append(counts, ErrorCount{code, n})
	}
	slices.SortFunc(counts, func(a, b ErrorCount) int { return strings.Compare(a.Code, b.Code) })
	return counts
}
