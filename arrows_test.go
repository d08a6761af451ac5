// Package rlserver_test guards the arrows between the packages of the module:
// who may import whom, and why not.
package rlserver_test

import (
	"os"
	"testing"
)

// house is a top-level package, with the packages below it that have no entry
// of their own.
type house struct {
	imports []string // the houses that it may import
	tests   []string // those that its _test.go files may import besides
	why     string   // why it may import no other
}

// houses is the whole map of the module. Keep it in the order of the arrows: a
// house stands below those it imports.
func houses() map[string]house {
	return map[string]house{
		"limit": {
			why: "the algorithms are pure functions; whoever stores buckets calls them",
		},
		"policy": {
			imports: []string{"limit"},
			why:     "matching is a function of a request and the policies; it knows no bucket and no wire",
		},
		"state": {
			imports: []string{"limit", "policy"},
			why:     "buckets know nothing of who asks for them, of disks or of other nodes",
		},
		"snapshot": {
			imports: []string{"limit", "policy", "state"},
			why:     "the codec describes buckets; what sends or stores the bytes stands above it",
		},
		"raftfsm": {
			imports: []string{"limit", "policy", "state", "snapshot"},
			why:     "what is replicated is decided by the log alone, not by the bus or a client",
		},
		"cluster": {
			imports: []string{"limit", "policy", "state", "snapshot", "raftfsm", "cluster/bus", "cluster/lease"},
			why:     "nodes exchange typed frames, no RESP; clients and doors stand above it",
		},
		"cluster/bus": {
			why: "it carries bytes between nodes that trust each other, and could carry anything else",
		},
		"cluster/lease": {
			tests: []string{"limit", "raftfsm"},
			why:   "a lease is a function of messages and clock readings, so that a simulator can run it",
		},
		"resp": {
			why: "the protocol must not depend on what is served with it",
		},
		"resp/server": {
			imports: []string{"resp"},
			why:     "it moves bytes for resp, and could serve anything else",
		},
		"commands": {
			imports: []string{"limit", "policy", "resp"},
			tests:   []string{"state", "resp/server"},
			why:     "commands declares the interfaces it needs (ports.go), so that a command runs on any store and any socket",
		},
		"admin": {
			imports: []string{"limit", "policy"},
			tests:   []string{"state"},
			why:     "admin declares the interfaces it needs; a status page must not reach into the state",
		},
		"client": {
			tests: []string{"limit", "policy", "state", "resp", "resp/server", "commands"},
			why:   "a gateway that links the client must not link the server",
		},
		"cmd/rlserver": {
			imports: []string{
				"limit", "policy", "state", "snapshot", "raftfsm", "cluster", "cluster/bus",
				"resp", "resp/server", "commands", "admin", "client",
			},
			why: "the composition root knows every house, and no script",
		},
		"scripts": {
			imports: []string{
				"limit", "policy", "state", "snapshot", "raftfsm", "cluster", "cluster/bus",
				"resp", "resp/server", "commands", "admin", "client",
			},
			why: "scripts start the command as a process; a main package is not a library",
		},
		".": {why: "the root holds this test, and no code"},
	}
}

// restriction keeps some imports to some houses.
type restriction struct {
	imports []string          // import paths; a path stands for those below it too
	only    []string          // houses that may import them
	not     []string          // if set instead of only: houses that may not
	except  map[string]string // files that may all the same, and why
	tests   bool              // the restriction holds for _test.go files too
	why     string
}

func restrictions() []restriction {
	return []restriction{
		{
			imports: []string{"time", "sync", "os", "net", "io", "syscall", "log", "context", "runtime", "math/rand", "crypto"},
			not:     []string{"limit"},
			why:     "a decision is a pure function: its time is an argument, its caller holds the lock, and it does no I/O",
		},
		{
			imports: []string{"os", "net", "syscall"},
			not:     []string{"policy", "resp", "commands", "cluster/lease"},
			why:     "it is sans-I/O: the drivers in resp/server and the wiring in cmd/rlserver do it, and a fuzzer needs neither",
		},
		{
			imports: []string{"github.com/tidwall/redcon"},
			only:    []string{"resp", "resp/server"},
			tests:   true,
			why:     "redcon's parser bounds nothing and panics; nobody may meet it but behind resp's checks",
		},
		{
			imports: []string{"github.com/tidwall/btree"},
			only:    []string{"state", "policy"},
			why:     "one place holds the buckets, one the policies; a third tree would be a second truth",
		},
		{
			imports: []string{"github.com/hashicorp/raft", "github.com/hashicorp/raft-boltdb", "go.etcd.io/bbolt"},
			only:    []string{"raftfsm"},
			tests:   true,
			why:     "one place proposes and applies log entries; the rest asks raftfsm",
		},
		{
			imports: []string{"github.com/prometheus"},
			only:    []string{"cmd/rlserver", "admin", "scripts"},
			why:     "packages report through structs of funcs and counters; the command turns them into metrics",
		},
		{
			imports: []string{"unsafe"},
			except: map[string]string{
				"state/key.go": "a short key lives in the allocation of its entry: a string of its own is a header, an allocation and a cache miss more per key",
			},
			why: "the compiler checks nothing there; list the file here with what it gains",
		},
		{
			imports: []string{
				"testing", "pgregory.net/rapid", "github.com/google/go-cmp", "go.uber.org/goleak",
				"github.com/cockroachdb/datadriven", "github.com/rogpeppe/go-internal", "github.com/anishathalye/porcupine",
			},
			only: []string{"scripts"},
			why:  "a test library does not belong in the product; helpers for tests live in _test.go files",
		},
	}
}

func TestArrows(t *testing.T) {
	files, err := goFiles(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("only %d Go files found: is this the root of the module?", len(files))
	}
	for _, violation := range check(files, houses(), restrictions()) {
		t.Error(violation)
	}
	for _, r := range restrictions() {
		for name := range r.except {
			if !imports(files, name, r.imports) {
				t.Errorf("%s is an exception that is not needed: take it out of the table", name)
			}
		}
	}
}

// TestHousesAreLayered checks the table itself: no house may reach itself.
func TestHousesAreLayered(t *testing.T) {
	all := houses()
	var visit func(name string, path []string)
	visit = func(name string, path []string) {
		for _, seen := range path {
			if seen == name {
				t.Fatalf("the arrows run in a circle: %v", append(path, name))
			}
		}
		h, ok := all[name]
		if !ok {
			t.Fatalf("%v: %s is no house", path, name)
		}
		for _, below := range h.imports {
			visit(below, append(path, name))
		}
	}
	for name, h := range all {
		visit(name, nil)
		for _, other := range h.tests {
			if _, ok := all[other]; !ok {
				t.Errorf("the tests of %s: %s is no house", name, other)
			}
		}
		if h.why == "" {
			t.Errorf("%s gives no reason", name)
		}
	}
}
