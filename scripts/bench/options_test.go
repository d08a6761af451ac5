package main

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOptions(t *testing.T) {
	o, err := parseOptions([]string{
		"--peer", "a=127.0.0.1:1", "--peer-command", "PING",
		"--peer", "b=[::1]:2", "--peer-command", "CL.THROTTLE key:__rand_int__ 99 100 60", "--peer-pid", "42",
		"--date", "2026-01-02", "--cells", "INCR -P 1$",
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := []peer{
		{name: "a", addr: "127.0.0.1:1", command: []string{"PING"}},
		{name: "b", addr: "[::1]:2", command: []string{"CL.THROTTLE", "key:__rand_int__", "99", "100", "60"}, pid: 42},
	}
	if diff := cmp.Diff(want, o.peers, cmp.AllowUnexported(peer{})); diff != "" {
		t.Error(diff)
	}
	if o.rounds != 5 || o.scale != 1 || o.out != "" || o.keys != 1_000_000 || o.date != "2026-01-02" {
		t.Errorf("got %+v", o)
	}
	b := bench{options: o}
	if !b.wants(row{name: incrName}, 1) || b.wants(row{name: incrName}, 16) {
		t.Error("--cells does not choose by row and pipeline")
	}
}

func TestQuick(t *testing.T) {
	o, err := parseOptions([]string{"--quick"}, io.Discard)
	if err != nil || o.rounds != 1 || o.scale >= 1 || o.goCount != 1 || o.out != "-" || o.keys >= 1_000_000 {
		t.Errorf("got %+v, %v", o, err)
	}
	o, err = parseOptions([]string{"--quick", "--rounds", "3", "--requests-scale", "0.5", "--go-count", "2", "--out", "x.md"}, io.Discard)
	if err != nil || o.rounds != 3 || o.scale != 0.5 || o.goCount != 2 || o.out != "x.md" {
		t.Errorf("what was given is not kept: %+v, %v", o, err)
	}
}

func TestOptionsRefused(t *testing.T) {
	for args, want := range map[string]string{
		"--rounds 0":                    "--rounds",
		"--go-count 0":                  "--go-count",
		"--requests-scale 0":            "--requests-scale",
		"--requests-scale NaN":          "--requests-scale",
		"--cells (":                     "--cells",
		"surplus":                       "surplus",
		"--peer a":                      "name=host:port",
		"--peer a=b":                    "port",
		"--peer a=b:1":                  "--peer-command",
		"--peer-command PING":           "name the peer first",
		"--peer a=b:1 --peer-pid x":     "peer-pid",
		"--rounds 0 --requests-scale 0": "--requests-scale", // all at once
	} {
		_, err := parseOptions(strings.Fields(args), io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", args, err, want)
		}
	}
}
