package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestClusterRecover: two of three voters are lost for good. The survivor goes
// on alone with all policies, and nodes with empty directories join it.
func TestClusterRecover(t *testing.T) {
	dirs := t.TempDir()
	secret := filepath.Join(dirs, "secret")
	if err := os.WriteFile(secret, []byte("0123456789abcdef0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(name string, more ...string) *serverProcess {
		return startServer(t, append([]string{
			"--dir", filepath.Join(dirs, name), "--node-name", name, "--cluster-secret-file", secret, "--bus-addr", "127.0.0.1:0",
		}, more...)...)
	}
	first := run("n1", "--bootstrap-expect", "1")
	second, third := run("n2", "--join", first.atBus), run("n3", "--join", first.atBus)
	c := dial(t, third.addr, nil)
	if reply := c.ask(t, "RL.POLICY.SET a LIMIT 5 WINDOW 1s"); !strings.HasPrefix(reply, ":") {
		t.Fatal(reply)
	}
	recovers := func() result {
		return execute(t, serverCommand(t, "cluster", "recover", "--dir", filepath.Join(dirs, "n3")))
	}
	if got := recovers(); got.exit != 1 || !strings.Contains(got.stderr, "in use by another process") {
		t.Errorf("the node runs: %+v", got)
	}
	for _, s := range []*serverProcess{first, second, third} {
		s.stop(t)
	}
	if got := recovers(); got.exit != 0 || !strings.Contains(got.stdout, "is the only voter") {
		t.Fatalf("%+v", got)
	}
	survivor := run("n3")
	c = dial(t, survivor.addr, nil)
	for _, command := range []string{"RL.POLICY.SET b LIMIT 6 WINDOW 1s", "RL.POLICY.GET a", "RL.NODE.REMOVE n1", "RL.NODE.REMOVE n2"} {
		if reply := c.ask(t, command); strings.HasPrefix(reply, "-") {
			t.Errorf("%s: %s", command, reply)
		}
	}
	fresh := run("n4", "--join", survivor.atBus)
	if reply := dial(t, fresh.addr, nil).ask(t, "RL.POLICY.GET b"); !strings.Contains(reply, "b") {
		t.Errorf("the new node: %s", reply)
	}
}

func TestClusterCommandMistakes(t *testing.T) {
	dir := t.TempDir()
	for args, want := range map[string]string{
		"":                       "want recover",
		"mend":                   `want recover, got "mend"`,
		"recover":                "--dir must name",
		"recover --dir " + dir:   "holds no node",
		"recover --dir a b":      `unexpected argument "b"`,
		"recover --directory /x": "flag provided but not defined",
	} {
		got := execute(t, serverCommand(t, append([]string{"cluster"}, strings.Fields(args)...)...))
		if got.exit != 1 || !strings.Contains(got.stderr, want) {
			t.Errorf("%q: %+v", args, got)
		}
	}
}
