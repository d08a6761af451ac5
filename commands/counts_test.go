package commands_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlserver/rlserver/commands"
	"github.com/rlserver/rlserver/state"
)

// The counters of INFO, as numbers: what ran, was rejected, failed, and what
// the errors were.
func TestCounts(t *testing.T) {
	w := newWorld(t)
	exchange(w.session, []byte("RL.ALLOW k 1 1h\r\nRL.ALLOW k 1 1h\r\nRL.ALLOW k 0 1h\r\nRL.ALLOW\r\nNOSUCH\r\nCLIENT ID\r\n"), w.now)
	var got []commands.CommandCount
	for _, c := range w.handler.CommandCounts() {
		if c.Calls+c.Rejected+c.Failed > 0 {
			got = append(got, c)
		}
	}
	want := []commands.CommandCount{{Name: "client|id", Calls: 1}, {Name: "rl.allow", Calls: 3, Rejected: 1, Failed: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]commands.ErrorCount{{Code: "ERR", N: 3}}, w.handler.ErrorCounts()); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	all := w.handler.CommandCounts()
	if !slices.IsSortedFunc(all, func(a, b commands.CommandCount) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	}) || len(all) < 100 {
		t.Errorf("%d commands, or not by name", len(all))
	}
	exchange(w.session, []byte("CONFIG RESETSTAT\r\n"), w.now)
	if left := w.handler.ErrorCounts(); len(left) != 0 {
		t.Errorf("after RESETSTAT: %v", left)
	}
}

// Requests beyond what the operator allows are counted apart, and no others.
func TestRefusals(t *testing.T) {
	w := newWorld(t)
	long, most := strings.Repeat("k", commands.DefaultMaxKey+1), strings.Repeat("k", commands.DefaultMaxKey)
	for _, command := range []string{
		"RL.ALLOW " + most + " 1 1h", "RL.ALLOW k 0 1h", "RL.ALLOW '' 1 1h", "RL.ALLOW k 100000 1h ALGO sliding-log",
		"RL.ALLOW k 100001 1h", "RL.ALLOW k 1 1h ALGO sliding-log COST x", "RL.ALLOW k 200000 1h 5 ALGO sliding-log",
	} {
		w.send([]byte(command + "\r\n"))
	}
	if got := w.handler.Refusals(); got != (commands.Refusals{}) {
		t.Errorf("before anything is over: %+v", got)
	}
	for _, command := range []string{
		"RL.ALLOW " + long + " 1 1h", "CL.THROTTLE " + long + " 1 1 1", "EXISTS k " + long, "OBJECT ENCODING " + long,
		"RL.CHECK " + long, "RL.CHECK c TIER " + long, "RL.CHECK c ATTR a " + long,
		"RL.ALLOW k 100001 1h ALGO sliding-log", "RL.ALLOW k 1000000 1h ALGO sliding-log",
	} {
		out, _ := w.send([]byte(command + "\r\n"))
		if !strings.HasPrefix(string(out), "-ERR ") {
			t.Errorf("%.40s: %s", command, out)
		}
	}
	w.owner.lost = map[uint16]bool{state.Slot([]byte("k")): true}
	w.send([]byte("RL.ALLOW k 1 1h\r\n"))
	if got, want := w.handler.Refusals(), (commands.Refusals{KeysTooLong: 7, LogsTooLarge: 2, Replaced: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
