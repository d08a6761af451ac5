package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// measured makes a report of one row of rlserver beside INCR, at pipeline 16.
func measured(speed, cpu float64) *report {
	decision := row{name: "rlserver RL.ALLOW", aim: true, memory: true}
	return &report{
		options: options{rounds: 2, scale: 1, keys: 1_000_000, date: "2026-01-02", goCount: 3},
		machine: machine{CPU: "Some CPU", Cores: 2, Kernel: "6.1", Go: "1.26", Redis: "7.0.15", Load: "0.08"},
		rows: []*target{
			{row: row{name: incrName, memory: true}, bytesPerKey: 80.4},
			{row: decision, bytesPerKey: 100.6},
		},
		cells: map[cell][]sample{
			{incrName, 16}: {
				{speed: sampleSpeed(800_000), cpu: 1.25},
				{speed: sampleSpeed(400_000), cpu: 2.5},
			},
			{decision.name, 16}: {
				{speed: sampleSpeed(800_000 * speed), cpu: 1.25 * cpu},
				{speed: sampleSpeed(400_000 * speed), cpu: 2.5 * cpu},
			},
		},
	}
}

func sampleSpeed(perSecond float64) speed {
	return speed{perSecond: perSecond, p50: 0.1, p95: 0.2, p99: 0.3, max: 0.4}
}

func TestVerdicts(t *testing.T) {
	for _, tt := range []struct {
		name       string
		speed, cpu float64
		want       []string // what falls short at pipeline 16
	}{
		{"as aimed", 1.25, 1, []string{"", ""}},
		{"better", 2, 0.5, []string{"", ""}},
		{"slower", 1, 1, []string{"20.0 %", ""}},
		{"dearer", 1.25, 1.5, []string{"", "50.0 %"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, v := range measured(tt.speed, tt.cpu).verdicts() {
				at16 := strings.Contains(v.aim, "pipeline 16")
				if v.unknown == at16 {
					t.Errorf("%+v", v)
				}
				if at16 {
					got = append(got, v.short)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestVerdictBesideRedisCell(t *testing.T) {
	r := measured(1.25, 1)
	r.cells[cell{cellName, 16}] = []sample{{speed: sampleSpeed(2_000_000)}, {speed: sampleSpeed(500_000)}}
	r.rows = append(r.rows, &target{row: row{name: cellName}})
	i := slices.IndexFunc(r.verdicts(), func(v verdict) bool { return strings.Contains(v.aim, cellName) })
	if i < 0 {
		t.Fatal("it is not compared")
	}
	if v := r.verdicts()[i]; v.measured != "0.750" || v.short != "25.0 %" {
		t.Errorf("got %+v", v)
	}
	if text, err := r.render(); err != nil || strings.Contains(text, "no such peer") {
		t.Errorf("%v, in:\n%s", err, text)
	}
}

func TestGoVerdicts(t *testing.T) {
	bench := func(name string, allocs float64) goBench {
		return goBench{"state", name, nil, map[string]float64{"allocs/op": allocs}}
	}
	uniform := bench("DecideUniform1M", 0)
	uniform.values["x-map"], uniform.values["bytes/key"] = 1.8, 99
	benches := []goBench{
		uniform, bench("DecideNewKeys", 1), bench("Decide/sliding-log/converted", 1), bench("Sweep1M", 5), bench("DecideOneKey", 1),
	}
	want := []verdict{
		{aim: "state.DecideUniform1M: ≤ 1.5 × a Go map's time", measured: "1.80", short: "20.0 %"},
		{aim: "state.DecideUniform1M: ≤ 100 bytes of heap per key", measured: "99.0"},
		{aim: "no allocation in a decision on a key in use", measured: "1 of 2 benchmarks allocate", short: "state.DecideOneKey"},
	}
	if diff := cmp.Diff(want, goVerdicts(benches), cmp.AllowUnexported(verdict{})); diff != "" {
		t.Error(diff)
	}
	if got := goVerdicts(nil); got != nil {
		t.Errorf("of nothing: %+v", got)
	}
}

func TestRender(t *testing.T) {
	r := measured(1, 0.9)
	runs, err := parseGoBenches(goOutput, 2)
	if err != nil {
		t.Fatal(err)
	}
	r.goBenches = medians(runs)
	text, err := r.render()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Measured on 2026-01-02: Some CPU, 2 cores; Linux 6.1; Go 1.26;\nredis-server and redis-benchmark 7.0.15. Load average of the minute before it began: 0.08.",
		"| redis-server INCR | - | 600,000 · 1.88 | - |\n| rlserver RL.ALLOW | - | 600,000 · 1.69 | - |\n",
		"| rlserver RL.ALLOW | - | 1.00 (1.00 to 1.00) | - |\n",
		"| rlserver RL.ALLOW | - | 0.90 (0.90 to 0.90) | - |\n",
		"| redis-server INCR | 80.4 |\n| rlserver RL.ALLOW | 101 |\n",
		"| state.DecideUniform1M | 232 | 180 | 1.28 | 88.2 |\n",
		"| limit.Decide/token-bucket/allowed | 32.0 | 0 | 0 |  |\n",
		"4 of 9 parts of the aim hold, 1 falls short, 4 were not measured in this run.",
		"| rlserver RL.ALLOW, pipeline 16: ≥ 1.25 × INCR's requests/s | 1.00 | **short: 20.0 %** |\n",
		"that this run does not measure:\n\n- redis-cell, which no row may be below: no such peer was given\n- p99.9",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "no full run") || strings.Contains(text, "\n\n\n") {
		t.Errorf("in:\n%s", text)
	}

	r.quick, r.goBenches = true, nil
	if text, err = r.render(); err != nil || !strings.Contains(text, "no full run (--quick)") || strings.Contains(text, "### Go") || !strings.Contains(text, "Go benchmarks say: they were left out") {
		t.Errorf("%v in:\n%s", err, text)
	}
}
