package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/state"
)

// TestConfigSet: what CONFIG SET takes CONFIG GET shows, under both names; what
// it refuses changes nothing.
func TestConfigSet(t *testing.T) {
	const failed = "-ERR CONFIG SET failed (possibly related to argument '"
	s := startServer(t, "--password", "app-pw", "--admin-password", "admin-pw", "--idle-timeout", "90s")
	c := dial(t, s.addr, nil)
	c.expect(t, "AUTH admin admin-pw", "+OK")
	for _, row := range []struct{ set, want, get, value string }{
		{"idle-timeout 1h", "+OK", "timeout", "3600"},
		{"idle-timeout 1500ms", "+OK", "idle-timeout", "1.5s"},
		{"timeout 7", "+OK", "idle-timeout", "7s"},
		{"TIMEOUT 0", "+OK", "idle-timeout", "0s"},
		{"timeout -1", failed + "timeout') - argument must be between 0 and 2147483647 inclusive", "timeout", "0"},
		{"timeout 2147483648", failed + "timeout') - argument must be between 0 and 2147483647 inclusive", "timeout", "0"},
		{"timeout 99999999999999999999", failed + "timeout') - argument must be between 0 and 2147483647 inclusive", "timeout", "0"},
		{"timeout 1s", failed + "timeout') - argument couldn't be parsed into an integer", "timeout", "0"},
		{"idle-timeout 7", failed + "idle-timeout') - want a time such as 1500ms, 1s, 5m or 1h", "timeout", "0"},
		{"idle-timeout -1s", failed + "idle-timeout') - idle timeout must be at least 0s, got -1s", "timeout", "0"},
		{"command-timeout 20s", "+OK", "command-timeout", "20s"},
		{"command-timeout 0", failed + "command-timeout') - command timeout must be at least 1ns, got 0s", "command-timeout", "20s"},
		{"write-timeout 1m", "+OK", "write-timeout", "1m"},
		{"write-timeout 0s", failed + "write-timeout') - write timeout must be at least 1ns, got 0s", "write-timeout", "1m"},
		{"drain-timeout 1s", "+OK", "drain-timeout", "1s"},
		{"drain-timeout -1s", failed + "drain-timeout') - --drain-timeout must not be negative, got -1s", "drain-timeout", "1s"},
		{"maxclients 77", "+OK", "max-clients", "77"},
		{"max-clients 78", "+OK", "maxclients", "78"},
		{"maxclients 0", failed + "maxclients') - argument must be between 1 and 4294967295 inclusive", "maxclients", "78"},
		{"max-clients 0", failed + "max-clients') - max clients must be at least 1, got 0", "maxclients", "78"},
		{"max-clients many", failed + "max-clients') - want a whole number", "maxclients", "78"},
		{"max-clients-per-addr 9", "+OK", "max-clients-per-addr", "9"},
		{"max-clients-per-addr -9", failed + "max-clients-per-addr') - max clients per address must be at least 0, got -9", "max-clients-per-addr", "9"},
		{"maxmemory 64mb", "+OK", "max-memory", "64mb"},
		{"max-memory 65mb", "+OK", "maxmemory", "68157440"},
		{"maxmemory 1kb", failed + "maxmemory') - --max-memory must be at least 1mb, got 1kb", "max-memory", "65mb"},
		{"sweep-idle 30s", "+OK", "sweep-idle", "30s"},
		{"sweep-idle -1s", failed + "sweep-idle') - --sweep-idle must not be negative, got -1s", "sweep-idle", "30s"},
		{"sweep-idle 30", failed + "sweep-idle') - want a time such as 1500ms, 1s, 5m or 1h", "sweep-idle", "30s"},
		{"loglevel verbose", "+OK", "log-level", "DEBUG"},
		{"loglevel warning", "+OK", "log-level", "WARN"},
		{"log-level debug", "+OK", "loglevel", "debug"},
		{"loglevel loud", failed + "loglevel') - argument(s) must be one of the following: debug, verbose, notice, warning, nothing", "loglevel", "debug"},
		{"log-level loud", failed + "log-level') - want debug, info, warn or error", "loglevel", "debug"},

		{"max-key 5", failed + "max-key') - can't set immutable config", "max-key", "512"},
		{"addr x", failed + "addr') - can't set immutable config", "addr", "127.0.0.1:0"},
		{"databases 5", failed + "databases') - can't set immutable config", "databases", "1"},
		{"password x", failed + "password') - can't set immutable config", "password", "(hidden)"},
		{"version true", "-ERR Unknown option or number of arguments for CONFIG SET - 'version'", "databases", "1"},
		{"nosuch 1", "-ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'", "databases", "1"},

		{"idle-timeout 1500ms", "+OK", "idle-timeout", "1.5s"},
		{"timeout 9 max-clients 5 max-key 1", failed + "max-key') - can't set immutable config", "idle-timeout", "1.5s"},
		{"timeout 9 timeout 8", failed + "timeout') - duplicate parameter", "max-clients", "78"},
		{"idle-timeout 0", "+OK", "timeout", "0"},
	} {
		c.expect(t, "CONFIG SET "+row.set, row.want)
		c.expect(t, "CONFIG GET "+row.get, "["+row.get+" "+row.value+"]")
	}
	if got := c.ask(t, "INFO clients"); !strings.Contains(got, "maxclients:78\r\n") {
		t.Errorf("INFO: %s", got)
	}
}

// TestConfigSetCounts: the new values are what the server goes by.
func TestConfigSetCounts(t *testing.T) {
	s := startServer(t, "--log-level", "info", "--drain-timeout", "1h")
	c := dial(t, s.addr, nil)
	c.expect(t, "CONFIG SET log-level debug", "+OK")
	dial(t, s.addr, nil).expect(t, "QUIT", "+OK")
	s.expectLog(t, "connection closed")

	c.expect(t, "CONFIG SET max-clients 1", "+OK")
	if _, err := tryDial(s.addr, nil); err == nil {
		s.expectLog(t, "connection refused")
	}
	c.expect(t, "CONFIG SET maxclients 10", "+OK")

	idle := dial(t, s.addr, nil)
	idle.expect(t, "PING", "+PONG")
	c.expect(t, "CONFIG SET idle-timeout 100ms", "+OK")
	if line := s.expectLog(t, "connection closed"); field(line, "why") != "idle" {
		t.Errorf("closed for another reason: %v", line)
	}
	c = dial(t, s.addr, nil)
	c.expect(t, "CONFIG SET idle-timeout 0 drain-timeout 200ms", "+OK")
	s.stop(t)
	if line := s.expectLog(t, "stopping"); field(line, "drain-timeout") != "200ms" {
		t.Errorf("logged %v", line)
	}
}

// The sweeper goes by a new --sweep-idle at once.
func TestConfigSetSweepIdle(t *testing.T) {
	const second = int64(time.Second)
	cfg, err := parseConfig(nil, func(string) string { return "" }, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	store, err := newStore(cfg)
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(cfg, store, 0, nil)
	rule := limit.Spec{Limit: 10, Window: second, Burst: 10}
	if _, err := store.Decide([]byte("k"), rule, limit.Request{Cost: 1}, 0); err != nil {
		t.Fatal(err)
	}
	if r := store.Sweep(40*second, state.Slots); r.Keys != 1 || r.Deleted != 0 {
		t.Errorf("idle for 40 s of 1m: %+v", r)
	}
	if known, err := n.Set("sweep-idle", "30s"); !known || err != nil {
		t.Fatal(known, err)
	}
	if r := store.Sweep(40*second, state.Slots); r.Deleted != 1 {
		t.Errorf("idle for 40 s of 30s: %+v", r)
	}
}

// Times show as they are written.
func TestDurationValue(t *testing.T) {
	for in, want := range map[string]string{
		"1500ms": "1.5s", "60s": "1m", "1h": "1h", "90m": "1h30m", "3605s": "1h0m5s", "10s": "10s", "0": "0s", "100ms": "100ms", "-2m": "-2m",
	} {
		var d durationValue
		if err := d.Set(in); err != nil || d.String() != want {
			t.Errorf("%s: %s, %v; want %s", in, d.String(), err, want)
		}
		if again := d; again.Set(d.String()) != nil || again != d {
			t.Errorf("%s cannot be read again", d.String())
		}
	}
}
