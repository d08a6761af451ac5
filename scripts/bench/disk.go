package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"
)

// keeper is a server with what it keeps on the disk, and how.
type keeper struct {
	name string
	by   software
	args []string
	// saves: it is asked to save everything, and to start after a clean stop.
	// crashes: it is asked to start after a kill -9. journals: what it writes
	// for each decision is measured. timed: so are decisions while it saves.
	saves, crashes, journals, timed bool

	save, load, recover       []float64 // seconds
	savedBytes, crashedBytes  float64   // per key
	perDecision, withDenials  float64   // bytes written
	quiet, saving             []float64 // p99.9 of decisions, in milliseconds
	quietMedians, saveMedians []float64 // p50
	cpu                       []float64 // seconds per million decisions
}

// keepers is every line of the tables, in their order.
func keepers() []*keeper {
	redis := func(save, appendOnly, sync string) []string {
		return []string{"--save", save, "--appendonly", appendOnly, "--appendfsync", sync, "--auto-aof-rewrite-percentage", "0"}
	}
	return []*keeper{
		{name: "rlserver --sync 1s", by: rlserver, args: []string{"--sync", "1s"}, saves: true, crashes: true, journals: true, timed: true},
		{name: "rlserver --sync always", by: rlserver, args: []string{"--sync", "always"}, timed: true},
		{name: "rlserver --sync off", by: rlserver, args: []string{"--sync", "off"}},
		{name: "redis-server, RDB", by: redisServer, args: redis("3600 1", "no", "no"), saves: true},
		{name: "redis-server, AOF everysec", by: redisServer, args: redis("", "yes", "everysec"), crashes: true, journals: true, timed: true},
		{name: "redis-server, AOF always", by: redisServer, args: redis("", "yes", "always")},
		{name: "redis-server, nothing", by: redisServer, args: redis("", "no", "no")},
	}
}

// limiting is the command that takes a unit of a limit per day of a key, as
// the server has it.
func (k *keeper) limiting(key, limit string) []string {
	for _, r := range rows(nil) {
		if r.by == k.by && strings.HasSuffix(r.name, "per day") {
			c := strings.Split(strings.Join(r.command, " "), " ")
			if k.by == rlserver {
				c[1], c[2] = key, limit
			} else {
				c[3], c[4] = key, limit
			}
			return c
		}
	}
	return nil
}

// runDisk measures the disk; it is all of the program when it is asked for.
func runDisk(ctx context.Context, args []string, stdout, progress io.Writer) (err error) {
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
	out, err := o.page(root, "disk")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "rlserver-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := diskReport{report: report{options: o}, keepers: keepers()}
	if r.machine, err = thisMachine(ctx); err != nil {
		return err
	}
	b := diskBench{bench: bench{options: o, root: root, progress: progress}, dir: dir}
	for _, measure := range []func(context.Context, []*keeper) error{b.starts, b.written, b.latencies, b.costs} {
		if err := measure(ctx, r.keepers); err != nil {
			return err
		}
	}
	if r.sync, err = syncTime(dir); err != nil {
		return err
	}
	text, err := r.render()
	if err != nil {
		return err
	}
	return out.write(text, stdout)
}

// diskReport is what a run found out about the disk.
type diskReport struct {
	report
	keepers []*keeper
	sync    time.Duration
}

//go:embed disk.md.tmpl
var diskText string

// render writes the region of the page.
func (r *diskReport) render() (string, error) {
	t, err := template.New("disk").Parse(diskText)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.Execute(&out, map[string]any{
		"Partial": r.partial(),
		"Date":    r.date,
		"Machine": r.machine,
		"Sync":    digits3(milliseconds(r.sync)),
		"Rounds":  plural(r.rounds, "round", "rounds"),
		"Keys":    commas(int64(r.keys)),
		"Rate":    commas(pacedRate),
		"Askers":  pacedConnections,
		"Seconds": digits3(r.pacedTime().Seconds()),
		"Starts": r.lines([]string{"server", "save, s", "start after a clean stop, s", "start after kill -9, s", "bytes per key: saved", "journal"},
			func(k *keeper) []string {
				return []string{middle(k.save), middle(k.load), middle(k.recover), positive(k.savedBytes), positive(k.crashedBytes)}
			}),
		"Written": r.lines([]string{"server", "no denials", "90 % denied"}, func(k *keeper) []string {
			return []string{positive(k.perDecision), positive(k.withDenials)}
		}),
		"Latency": r.lines([]string{"server", "p50", "p50 while saving", "p99.9", "p99.9 while saving"}, func(k *keeper) []string {
			return []string{middle(k.quietMedians), middle(k.saveMedians), between(k.quiet), between(k.saving)}
		}),
		"Costs": r.lines([]string{"server", "CPU s per million decisions"}, func(k *keeper) []string {
			return []string{between(k.cpu)}
		}),
	})
	return out.String(), err
}

// lines is a table of the keepers of which there is something to tell.
func (r *diskReport) lines(header []string, columns func(*keeper) []string) string {
	var all [][]string
	for _, k := range r.keepers {
		line, known := []string{k.name}, false
		for _, c := range columns(k) {
			line, known = append(line, c), known || c != none
		}
		if known {
			all = append(all, line)
		}
	}
	return table(header, all)
}

func middle(xs []float64) string { return digits3(median(xs)) }

// between is the median, and between which the values lay.
func between(xs []float64) string {
	all := known(xs)
	if len(all) < 2 {
		return middle(all)
	}
	return fmt.Sprintf("%s (%s to %s)", middle(all), digits3(all[0]), digits3(all[len(all)-1]))
}

// positive leaves out what was not measured.
func positive(x float64) string {
	if x == 0 {
		x = math.NaN()
	}
	return digits3(x)
}

// sizeOf is the bytes of all files in a directory.
func sizeOf(dir string) (sum int64, err error) {
	err = filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}
