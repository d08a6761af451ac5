package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
)

const connections = 50

// load is one run of redis-benchmark.
type load struct {
	addr     string
	command  []string
	keys     int
	depth    int
	requests int
}

// speed is what redis-benchmark says of a run. Latencies are in milliseconds.
type speed struct {
	perSecond          float64
	p50, p95, p99, max float64
}

func (l load) run(ctx context.Context) (speed, error) {
	host, port, err := net.SplitHostPort(l.addr)
	if err != nil {
		return speed{}, err
	}
	args := []string{
		"-h", host, "-p", port, "-c", strconv.Itoa(connections), "-P", strconv.Itoa(l.depth),
		"-n", strconv.Itoa(l.requests), "-r", strconv.Itoa(l.keys), "--csv",
	}
	// It ends with an error when the server answers one, so that no error is
	// counted as a decision. PING among the arguments is sent as an array;
	// its own test of that name would send the line of a human, too.
	out, err := output(ctx, "", "redis-benchmark", append(args, l.command...)...)
	if err != nil {
		return speed{}, err
	}
	return parseSpeed(out)
}

// parseSpeed reads the CSV of redis-benchmark: a line of column names, and one
// of the run. Whatever it prints before is skipped.
func parseSpeed(out string) (speed, error) {
	begin := strings.Index(out, `"test"`)
	if begin < 0 {
		return speed{}, fmt.Errorf("redis-benchmark printed no CSV: %q", out)
	}
	r := csv.NewReader(strings.NewReader(out[begin:]))
	r.LazyQuotes = true // the command is quoted, but not what is quoted in it
	r.FieldsPerRecord = -1
	lines, err := r.ReadAll()
	if err != nil {
		return speed{}, fmt.Errorf("redis-benchmark: %w", err)
	}
	if len(lines) != 2 || len(lines[0]) != len(lines[1]) {
		return speed{}, fmt.Errorf("redis-benchmark: want a line under the column names: %q", out)
	}
	var s speed
	var errs []error
	for name, to := range map[string]*float64{
		"rps":            &s.perSecond,
		"p50_latency_ms": &s.p50,
		"p95_latency_ms": &s.p95,
		"p99_latency_ms": &s.p99,
		"max_latency_ms": &s.max,
	} {
		i := slices.Index(lines[0], name)
		if i < 0 {
			errs = append(errs, fmt.Errorf("redis-benchmark: no column %s", name))
			continue
		}
		if *to, err = strconv.ParseFloat(lines[1][i], 64); err != nil {
			errs = append(errs, fmt.Errorf("redis-benchmark: %s: %w", name, err))
		}
	}
	if len(errs) == 0 && (s.perSecond <= 0 || math.IsInf(s.perSecond, 0)) {
		errs = append(errs, errors.New("redis-benchmark: no request was answered"))
	}
	return s, errors.Join(errs...)
}
