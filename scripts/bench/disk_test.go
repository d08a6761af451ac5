package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLimiting(t *testing.T) {
	for _, k := range keepers() {
		c := k.limiting("a:"+randInt, "7")
		at := slices.Index(c, "a:"+randInt)
		if at < 0 || c[at+1] != "7" || !strings.HasPrefix(c[at+2], "86400") {
			t.Errorf("%s: %q", k.name, c)
		}
		if slices.Contains(k.limiting(uniform, "8"), "7") {
			t.Errorf("%s: its command changed", k.name)
		}
	}
}

func TestPart(t *testing.T) {
	thousand := make([]float64, 1000)
	for i := range thousand {
		thousand[i] = float64(i)
	}
	for p, want := range map[float64]float64{0: 0, 0.5: 500, 0.999: 999, 1: 999} {
		if got := part(thousand, p); got != want {
			t.Errorf("%v: got %v, want %v", p, got, want)
		}
	}
}

func TestSizeOf(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "within"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "within/b"} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := sizeOf(dir); err != nil || got != 200 {
		t.Error(got, err)
	}
	if _, err := sizeOf(filepath.Join(dir, "none")); err == nil {
		t.Error("a directory that does not exist has a size")
	}
}

// TestDiskPage: what was not measured is left out, line by line.
func TestDiskPage(t *testing.T) {
	all := keepers()
	all[0].save, all[0].load, all[0].savedBytes = []float64{1, 3, 2}, []float64{0.5}, 30.26
	all[1].cpu = []float64{4, math.NaN(), 2}
	r := diskReport{report: report{options: options{rounds: 3, keys: 1_000_000, scale: 1, date: "2026-12-01"}}, keepers: all, sync: time.Millisecond}
	text, err := r.render()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| " + all[0].name + " | 2.00 | 0.500 | - | 30.3 | - |\n",
		"| " + all[1].name + " | 3.00 (2.00 to 4.00) |\n",
		"Measured on 2026-12-01", "1,000,000 keys", "until it is on the disk", "takes 1.00 ms", "3 rounds",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "| "+all[2].name) {
		t.Errorf("a line of what was not measured in\n%s", text)
	}
}
