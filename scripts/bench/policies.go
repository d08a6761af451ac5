package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"
)

// changesAim is how many changes a second a cluster of three must take.
const changesAim = 1000

// runPolicies measures policies; it is all of the program when it is asked for.
func runPolicies(ctx context.Context, args []string, stdout, progress io.Writer) error {
	o, err := parseOptions(args, progress)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	out, err := o.page(root, "policies")
	if err != nil {
		return err
	}
	b := bench{options: o, root: root, rows: policyRows(), progress: progress}
	r := policiesReport{report: report{options: o}}
	if r.machine, err = thisMachine(ctx); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "rlserver-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is a temporary one
	if err := b.build(ctx, dir); err != nil {
		return err
	}
	if r.changes, err = b.changes(ctx, dir); err != nil {
		return err
	}
	if r.sync, err = syncTime(dir); err != nil {
		return err
	}
	if r.rows, r.cells, err = b.servers(ctx); err != nil {
		return err
	}
	text, err := r.render()
	if err != nil {
		return err
	}
	return out.write(text, stdout)
}

// policyRows are decisions by policies, beside what they are compared with.
func policyRows() []row {
	const endpoint = "POST /api/v1/auth/login"
	everybody := []string{"RL.POLICY.SET", "everybody", "LIMIT", "100", "WINDOW", "1d"}
	return []row{
		{name: incrName, by: redisServer, command: []string{"INCR", uniform}},
		{name: "rlserver RL.ALLOW", by: rlserver, command: []string{"RL.ALLOW", uniform, "100", "86400"}, want: "1"},
		{
			name: "rlserver RL.CHECK, one scope", by: rlserver, setup: [][]string{everybody},
			command: []string{"RL.CHECK", uniform, "ENDPOINT", endpoint}, want: "1",
		},
		{
			name: "rlserver RL.CHECK, three scopes", by: rlserver,
			setup: [][]string{
				everybody,
				{"RL.POLICY.SET", "logins", "LIMIT", "100", "WINDOW", "1d", "ENDPOINT", endpoint, "SCOPE", "logins"},
				{"RL.POLICY.SET", "all", "LIMIT", "1000000000000", "WINDOW", "1d", "PER", "-", "SCOPE", "all"},
			},
			command: []string{"RL.CHECK", uniform, "ENDPOINT", endpoint}, want: "1",
		},
	}
}

// policiesReport is what a run found out about policies.
type policiesReport struct {
	report
	changes []changeRow
	sync    time.Duration // a write of 4 KiB and its way to the disk
}

//go:embed policies.md.tmpl
var policiesText string

// render writes the region of the page.
func (r *policiesReport) render() (string, error) {
	t, err := template.New("policies").Parse(policiesText)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.Execute(&out, map[string]any{
		"Partial":     r.partial(),
		"Date":        r.date,
		"Machine":     r.machine,
		"Sync":        digits3(milliseconds(r.sync)),
		"Rounds":      plural(r.rounds, "round", "rounds"),
		"Seconds":     digits3(r.changeTime().Seconds()),
		"Connections": changeConnections,
		"Policies":    commas(changeConnections * namesEach),
		"Changes":     r.changeTable(),
		"Aim":         commas(changesAim),
		"Keys":        commas(int64(r.keys)),
		"Askers":      connections,
		"Speed": r.byDepth(func(c cell) string {
			return digits3(median(r.speeds(c))) + " · " + digits3(median(r.cpus(c)))
		}),
		"SpeedRatios": r.byDepth(func(c cell) string { return spread(r.speedRatios(c, incrName)) }),
		"CPURatios":   r.byDepth(func(c cell) string { return spread(r.cpuRatios(c, incrName)) }),
		"Latency":     r.latencies(),
	})
	return out.String(), err
}

func (r *policiesReport) changeTable() string {
	var lines [][]string
	for _, c := range r.changes {
		show := func(value func(changeSample) float64) string {
			var xs []float64
			for _, s := range c.samples {
				xs = append(xs, value(s))
			}
			return digits3(median(xs))
		}
		lines = append(lines, []string{
			c.name,
			commas(int64(c.depth)),
			show(func(s changeSample) float64 { return s.perSecond }),
			show(func(s changeSample) float64 { return s.p50 }),
			show(func(s changeSample) float64 { return s.p99 }),
			show(func(s changeSample) float64 { return s.refused }),
		})
	}
	return table([]string{"asked", "pipeline", "changes/s", "p50 ms", "p99 ms", "refused"}, lines)
}

// syncTime is the median time of a write to where the servers have their
// directories: a change of a policy costs at least one.
func syncTime(dir string) (time.Duration, error) {
	file, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }() // what it holds is of no use
	var took []time.Duration
	block := make([]byte, 4096)
	for range 200 {
		began := time.Now()
		if _, err := file.Write(block); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}
