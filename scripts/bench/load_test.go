package main

import (
	"strings"
	"testing"
)

func TestParseSpeed(t *testing.T) {
	const names = `"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"` + "\n"
	const run = `"INCR key:__rand_int__","853244.06","0.053","0.001","0.047","0.103","0.391","1.135"` + "\n"
	want := speed{perSecond: 853244.06, p50: 0.047, p95: 0.103, p99: 0.391, max: 1.135}
	for _, tt := range []struct {
		name, out string
		want      speed
		bad       string
	}{
		{name: "plain", out: names + run, want: want},
		{name: "after a warning", out: "WARNING: Could not fetch server CONFIG\n" + names + run, want: want},
		{name: "quotes in the command", out: names + strings.Replace(run, "key:", `"key":`, 1), want: want},
		{
			name: "columns in another order", out: "\"test\",\"max_latency_ms\",\"rps\",\"p99_latency_ms\",\"p95_latency_ms\",\"p50_latency_ms\"\n" +
				`"PING","1.135","853244.06","0.391","0.103","0.047"` + "\n", want: want,
		},
		{name: "nothing", bad: "no CSV"},
		{name: "no run", out: names, bad: "want a line"},
		{name: "two runs", out: names + run + run, bad: "want a line"},
		{name: "cut off", out: names + "\"PING\",\"1.0\"\n", bad: "want a line"},
		{name: "no number", out: names + strings.Replace(run, "0.391", "x", 1), bad: "p99_latency_ms"},
		{name: "a column less", out: strings.Replace(names, "rps", "other", 1) + run, bad: "no column rps"},
		{name: "no requests", out: names + strings.Replace(run, "853244.06", "0.00", 1), bad: "no request"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseSpeed(tt.out)
			if tt.bad == "" {
				if got != tt.want || err != nil {
					t.Errorf("got %+v, %v", got, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.bad) {
				t.Errorf("got %+v, %v, want an error with %q", got, err, tt.bad)
			}
		})
	}
}

func TestWholeBatches(t *testing.T) {
	for _, tt := range []struct {
		requests float64
		depth    int
		want     int
	}{
		{0, 1, 50},
		{50, 1, 50},
		{51, 1, 100},
		{1, 64, 3200},
		{2_000_000, 16, 2_000_000},
		{2_000_001, 16, 2_000_800},
	} {
		if got := wholeBatches(tt.requests, tt.depth); got != tt.want {
			t.Errorf("%v at %d: got %d, want %d", tt.requests, tt.depth, got, tt.want)
		}
	}
}
