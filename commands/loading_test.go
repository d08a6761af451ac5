package commands_test

import (
	"errors"
	"strings"
	"testing"
)

// TestLoading: what a server that starts cannot answer is refused with the
// code that clients know; once it can, it always does.
func TestLoading(t *testing.T) {
	w := newWorld(t)
	cfg := w.config()
	why := errors.New("no leader is known")
	cfg.Loading = func() error { return why }
	w.serve(t, cfg)
	expect := func(line, want string) {
		t.Helper()
		if out, _ := w.send([]byte(line + "\r\n")); !strings.Contains(string(out), want) {
			t.Errorf("%s: %q, want %q", line, out, want)
		}
	}
	for _, line := range []string{"RL.ALLOW k 10 1m", "RL.POLICY.LIST", "EXISTS k"} {
		expect(line, "-LOADING rlserver is starting: no leader is known\r\n")
	}
	expect("PING", "+PONG")
	expect("RL.CLUSTER.STATUS", "state")
	expect("INFO persistence", "loading:1")
	why = nil
	expect("RL.ALLOW k 10 1m", ":1")
	expect("INFO persistence", "loading:0")
	why = errors.New("the leader is lost")
	expect("RL.ALLOW k 10 1m", ":1")
}
