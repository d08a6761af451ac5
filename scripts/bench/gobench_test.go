package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const goOutput = `goos: linux
goarch: amd64
pkg: example.org/module/limit
cpu: Some CPU
BenchmarkDecide/token-bucket/allowed-2 	37000000	        30.00 ns/op	       0 B/op	       0 allocs/op
BenchmarkDecide/token-bucket/allowed-2 	37000000	        32.00 ns/op	       0 B/op	       0 allocs/op
BenchmarkDecide/token-bucket/allowed-2 	37000000	        90.00 ns/op	       0 B/op	       0 allocs/op
BenchmarkTop-10-2                      	       1	1000 ns/op
PASS
ok  	example.org/module/limit	3.1s
pkg: example.org/module/state
BenchmarkDecideUniform1M-2 	 5000000	       231.5 ns/op	        88.25 bytes/key	       180.1 map-ns/op	         1.285 x-map	       0 B/op	       0 allocs/op
--- BENCH: BenchmarkDecideUniform1M-2
    bench_test.go:1: a line of a log
BenchmarkStarted
`

func TestParseGoBenches(t *testing.T) {
	runs, err := parseGoBenches(goOutput, 2)
	if err != nil {
		t.Fatal(err)
	}
	standard := []string{"ns/op", "B/op", "allocs/op"}
	want := []goBench{
		{"limit", "Decide/token-bucket/allowed", standard, map[string]float64{"ns/op": 32, "B/op": 0, "allocs/op": 0}},
		{"limit", "Top-10", []string{"ns/op"}, map[string]float64{"ns/op": 1000}},
		{
			"state", "DecideUniform1M",
			[]string{"ns/op", "bytes/key", "map-ns/op", "x-map", "B/op", "allocs/op"},
			map[string]float64{"ns/op": 231.5, "bytes/key": 88.25, "map-ns/op": 180.1, "x-map": 1.285, "B/op": 0, "allocs/op": 0},
		},
	}
	if diff := cmp.Diff(want, medians(runs), cmp.AllowUnexported(goBench{})); diff != "" {
		t.Error(diff)
	}
}

// On one processor go test adds no number, and one at the end is the name's.
func TestParseGoBenchesOnOneProcessor(t *testing.T) {
	runs, err := parseGoBenches("BenchmarkTop-1 \t 1 \t 5 ns/op\n", 1)
	if err != nil || len(runs) != 1 || runs[0].name != "Top-1" {
		t.Errorf("got %+v, %v", runs, err)
	}
}

func TestParseGoBenchesRefuses(t *testing.T) {
	if runs, err := parseGoBenches("BenchmarkX-2 1 five ns/op\n", 2); err == nil {
		t.Errorf("got %+v", runs)
	}
}
