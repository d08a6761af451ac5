package commands_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlserver/rlserver/commands"
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
