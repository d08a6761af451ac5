package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"runtime"
	"strconv"
	"strings"
)

// goBench is one benchmark, with its values by unit ("ns/op", "B/op", and what
// it reports besides).
type goBench struct {
	pkg    string // its last word
	name   string // without "Benchmark" and the number of processors
	units  []string
	values map[string]float64
}

// goBenches runs the benchmarks of the packages that decide.
func (b *bench) goBenches(ctx context.Context) ([]goBench, error) {
	args := []string{
		"test", "-run", "^$", "-bench", ".", "-benchmem", "-timeout", "1h",
		"-count", strconv.Itoa(b.goCount),
	}
	if b.quick {
		args = append(args, "-benchtime", "20ms")
	}
	cmd := command(ctx, "go", append(args, "./limit", "./state")...)
	cmd.Dir = b.root
	var out bytes.Buffer
	cmd.Stdout = io.MultiWriter(&out, b.progress)
	cmd.Stderr = b.progress
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("the Go benchmarks: %w", err)
	}
	runs, err := parseGoBenches(out.String(), runtime.GOMAXPROCS(0))
	return medians(runs), err
}

// parseGoBenches reads what go test -bench prints: a line a run.
func parseGoBenches(out string, procs int) ([]goBench, error) {
	var runs []goBench
	pkg := ""
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) == 2 && fields[0] == "pkg:" {
			pkg = path.Base(fields[1])
			continue
		}
		if len(fields) < 4 || len(fields)%2 != 0 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		run := goBench{pkg: pkg, name: strings.TrimPrefix(fields[0], "Benchmark"), values: map[string]float64{}}
		if procs > 1 { // go test leaves a 1 out
			run.name = strings.TrimSuffix(run.name, "-"+strconv.Itoa(procs))
		}
		for i := 2; i < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", strings.TrimSpace(line), err)
			}
			run.units = append(run.units, fields[i+1])
			run.values[fields[i+1]] = value
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// medians joins the runs of each benchmark, in the order in which they came.
func medians(runs []goBench) []goBench {
	type id struct{ pkg, name string }
	values := map[id]map[string][]float64{}
	var joined []goBench
	for _, run := range runs {
		key := id{run.pkg, run.name}
		if values[key] == nil {
			values[key] = map[string][]float64{}
			joined = append(joined, goBench{run.pkg, run.name, run.units, map[string]float64{}})
		}
		for unit, value := range run.values {
			values[key][unit] = append(values[key][unit], value)
		}
	}
	for _, one := range joined {
		for unit, all := range values[id{one.pkg, one.name}] {
			one.values[unit] = median(all)
		}
	}
	return joined
}
