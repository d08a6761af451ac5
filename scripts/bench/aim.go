package main

import (
	"fmt"
	"math"
	"strings"
)

// The aim: a whole decision for no more than what Redis takes to count.
const (
	aimCPU      = 1.0 // of INCR's CPU time, at every depth
	aimMap      = 1.5 // of a Go map's lookup and update
	aimKeyBytes = 100 // of heap
)

// aimSpeed is the share of INCR's requests per second. With a pipeline of 1 the
// client is what is slow, so that nobody can be faster than INCR by much.
func aimSpeed(depth int) float64 {
	if depth == 1 {
		return 0.95
	}
	return 1.25
}

// verdict is one part of the aim and what was measured of it.
type verdict struct {
	aim      string
	measured string
	short    string // by how much it falls short; "": it holds
	unknown  bool   // it was not measured
}

// atLeast compares with a lower bound; x is NaN if nothing was measured.
func atLeast(aim string, x, bound float64) verdict { return judge(aim, x, (bound-x)/bound) }

// atMost compares with an upper bound; x is NaN if nothing was measured.
func atMost(aim string, x, bound float64) verdict { return judge(aim, x, (x-bound)/bound) }

func judge(aim string, x, missing float64) verdict {
	v := verdict{aim: aim, measured: digits3(x), unknown: math.IsNaN(x)}
	if missing > 0 {
		v.short = digits3(missing*100) + " %"
	}
	return v
}

// verdicts holds a run against the aim.
func (r *report) verdicts() []verdict {
	var all []verdict
	for _, t := range r.rows {
		if !t.aim {
			continue
		}
		for _, depth := range depths {
			c := cell{t.name, depth}
			where := fmt.Sprintf("%s, pipeline %d", t.name, depth)
			all = append(all,
				atLeast(fmt.Sprintf("%s: ≥ %v × INCR's requests/s", where, aimSpeed(depth)),
					median(r.speedRatios(c, incrName)), aimSpeed(depth)),
				atMost(fmt.Sprintf("%s: ≤ %v × INCR's CPU", where, aimCPU),
					median(r.cpuRatios(c, incrName)), aimCPU))
			if r.cells[cell{cellName, depth}] != nil {
				all = append(all, atLeast(fmt.Sprintf("%s: ≥ %s's requests/s", where, cellName),
					median(r.speedRatios(c, cellName)), 1))
			}
		}
	}
	return append(all, goVerdicts(r.goBenches)...)
}

// goVerdicts holds the Go benchmarks against the aim. They are recognised by
// the units that they report.
func goVerdicts(benches []goBench) []verdict {
	var all []verdict
	var allocating []string
	decisions := 0
	for _, one := range benches {
		if ratio, ok := one.values["x-map"]; ok {
			all = append(all, atMost(fmt.Sprintf("%v: ≤ %v × a Go map's time", one, aimMap), ratio, aimMap))
		}
		if size, ok := one.values["bytes/key"]; ok {
			all = append(all, atMost(fmt.Sprintf("%v: ≤ %v bytes of heap per key", one, aimKeyBytes), size, aimKeyBytes))
		}
		if !one.decidesAsUsual() {
			continue
		}
		decisions++
		if one.values["allocs/op"] > 0 {
			allocating = append(allocating, one.String())
		}
	}
	if decisions == 0 {
		return all
	}
	return append(all, verdict{
		aim:      "no allocation in a decision on a key in use",
		measured: fmt.Sprintf("%d of %d benchmarks allocate", len(allocating), decisions),
		short:    strings.Join(allocating, ", "),
	})
}

// decidesAsUsual: a key in use, by the rule that it has. A new key, and a log
// made from another rule's state, need memory.
func (g goBench) decidesAsUsual() bool {
	return strings.HasPrefix(g.name, "Decide") && !strings.Contains(g.name, "NewKeys") && !strings.HasSuffix(g.name, "/converted")
}

func (g goBench) String() string { return g.pkg + "." + g.name }
