package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
)

// report is what a run found out.
type report struct {
	options
	machine   machine
	rows      []*target
	cells     map[cell][]sample // by round
	goBenches []goBench
}

//go:embed report.md.tmpl
var reportText string

// render writes the region of the page.
func (r *report) render() (string, error) {
	t, err := template.New("report").Parse(reportText)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	verdicts := r.verdicts()
	err = t.Execute(&out, map[string]any{
		"Partial":     r.partial(),
		"Date":        r.date,
		"Machine":     r.machine,
		"Keys":        commas(int64(r.keys)),
		"Connections": connections,
		"Rounds":      plural(r.rounds, "round", "rounds"),
		"GoRuns":      plural(r.goCount, "run", "runs"),
		"Speed": r.byDepth(func(c cell) string {
			return digits3(median(r.speeds(c))) + " · " + digits3(median(r.cpus(c)))
		}),
		"SpeedRatios": r.byDepth(func(c cell) string {
			return spread(r.speedRatios(c, incrName))
		}),
		"CPURatios": r.byDepth(func(c cell) string {
			return spread(r.cpuRatios(c, incrName))
		}),
		"Latency": r.latencies(),
		"Memory":  r.memory(),
		"Go":      r.goTable(),
		"GoMap":   r.goMap(),
		"HasCell": slices.ContainsFunc(r.rows, func(t *target) bool { return t.name == cellName }),
		"Summary": summary(verdicts),
		"Aims":    aims(verdicts),
	})
	return out.String(), err
}

// plural is "1 round", "5 rounds".
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// partial says why a run is not one to publish, or "".
func (r *report) partial() string {
	switch {
	case r.quick:
		return "--quick"
	case r.scale < 1:
		return fmt.Sprintf("--requests-scale %v", r.scale)
	}
	return ""
}

func (r *report) each(c cell, value func(sample) float64) []float64 {
	var xs []float64
	for _, s := range r.cells[c] {
		xs = append(xs, value(s))
	}
	return xs
}

// speeds are the requests per second of a cell, by round.
func (r *report) speeds(c cell) []float64 {
	return r.each(c, func(s sample) float64 { return s.perSecond })
}

// cpus are the seconds of CPU per million requests of a cell, by round.
func (r *report) cpus(c cell) []float64 {
	return r.each(c, func(s sample) float64 { return s.cpu })
}

// speedRatios compares requests per second with another row's, at the same
// pipeline and by round.
func (r *report) speedRatios(c cell, row string) []float64 {
	return ratios(r.speeds(c), r.speeds(cell{row, c.depth}))
}

// cpuRatios does so with CPU per request.
func (r *report) cpuRatios(c cell, row string) []float64 {
	return ratios(r.cpus(c), r.cpus(cell{row, c.depth}))
}

// byDepth is a table of the rows at each pipeline.
func (r *report) byDepth(show func(cell) string) string {
	header := []string{"server and request"}
	for _, depth := range depths {
		header = append(header, fmt.Sprintf("pipeline %d", depth))
	}
	var lines [][]string
	for _, t := range r.rows {
		line := []string{t.name}
		for _, depth := range depths {
			c := cell{t.name, depth}
			if r.cells[c] == nil {
				line = append(line, none)
				continue
			}
			line = append(line, show(c))
		}
		lines = append(lines, line)
	}
	return table(header, lines)
}

func (r *report) latencies() string {
	var lines [][]string
	for _, t := range r.rows {
		c := cell{t.name, 1}
		if r.cells[c] == nil {
			continue
		}
		show := func(value func(sample) float64) string { return fixed(median(r.each(c, value)), 3) }
		lines = append(lines, []string{
			t.name,
			show(func(s sample) float64 { return s.p50 }),
			show(func(s sample) float64 { return s.p95 }),
			show(func(s sample) float64 { return s.p99 }),
			show(func(s sample) float64 { return s.max }),
		})
	}
	return table([]string{"server and request", "p50", "p95", "p99", "max"}, lines)
}

func (r *report) memory() string {
	var lines [][]string
	for _, t := range r.rows {
		if t.memory {
			lines = append(lines, []string{t.name, digits3(t.bytesPerKey)})
		}
	}
	return table([]string{"server and request", "bytes per key"}, lines)
}

func (r *report) goTable() string {
	var lines [][]string
	for _, one := range r.goBenches {
		var others []string
		for _, unit := range one.units {
			switch unit {
			case "ns/op", "B/op", "allocs/op":
			default:
				others = append(others, digits3(one.values[unit])+" "+unit)
			}
		}
		lines = append(lines, []string{
			one.String(), one.show("ns/op"), one.show("B/op"), one.show("allocs/op"), strings.Join(others, ", "),
		})
	}
	return table([]string{"benchmark", "ns/op", "B/op", "allocs/op", "reported besides"}, lines)
}

// goMap is of the benchmarks that compare themselves with a map.
func (r *report) goMap() string {
	var lines [][]string
	for _, one := range r.goBenches {
		if _, ok := one.values["x-map"]; ok {
			lines = append(lines, []string{
				one.String(), one.show("ns/op"), one.show("map-ns/op"), one.show("x-map"), one.show("bytes/key"),
			})
		}
	}
	return table([]string{"benchmark", "ns/op", "map's ns/op", "ratio", "bytes/key"}, lines)
}

// show is a value of a benchmark.
func (g goBench) show(unit string) string {
	value, ok := g.values[unit]
	if !ok {
		return none
	}
	return digits3(value)
}

// summary counts the verdicts.
func summary(all []verdict) string {
	if all == nil {
		return "Nothing of this run can be held against the aim."
	}
	held, short, unknown := 0, 0, 0
	for _, v := range all {
		switch {
		case v.unknown:
			unknown++
		case v.short != "":
			short++
		default:
			held++
		}
	}
	return fmt.Sprintf("%d of %d parts of the aim hold, %s short, %d were not measured in this run.",
		held, len(all), plural(short, "falls", "fall"), unknown)
}

func aims(all []verdict) string {
	var lines [][]string
	for _, v := range all {
		result := "holds"
		switch {
		case v.unknown:
			result = "not measured"
		case v.short != "":
			result = "**short: " + v.short + "**"
		}
		lines = append(lines, []string{v.aim, v.measured, result})
	}
	return table([]string{"aim", "measured", "result"}, lines)
}
