package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func startRedis(ctx context.Context, t *testing.T) *process {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("redis-server is not installed")
		}
		t.Skip("*** redis-server is not installed: scripts/install-test-deps installs it")
	}
	b := bench{}
	p, err := b.startServer(ctx, t.TempDir(), redisServer)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// gone says that no process has this id any more.
func gone(pid int) bool { return syscall.Kill(pid, 0) != nil }

func TestServersEnd(t *testing.T) {
	p := startRedis(t.Context(), t)
	p.stop()
	if !gone(p.pid) {
		t.Error("stop returned, but the server runs")
	}

	ctx, cancel := context.WithCancel(t.Context())
	p = startRedis(ctx, t)
	cancel()
	<-p.exited
	if !gone(p.pid) {
		t.Error("the server outlived its context")
	}
}

func TestServerThatDoesNotStart(t *testing.T) {
	_, err := start(t.Context(), t.TempDir(), "sh", func(_, _, _ string) []string {
		return []string{"-c", "echo no such option >&2; exit 1"}
	})
	if err == nil || !strings.Contains(err.Error(), "no such option") {
		t.Errorf("got %v, want what the server said", err)
	}
	if _, err = start(t.Context(), t.TempDir(), "rlserver-that-is-not", func(_, _, _ string) []string { return nil }); err == nil {
		t.Error("a program that is not there was started")
	}
}

// TestGCRA: the script is a peer in the tables, so that it must be one that
// really limits.
func TestGCRA(t *testing.T) {
	p := startRedis(t.Context(), t)
	defer p.stop()
	call := func(args ...string) []string {
		t.Helper()
		answer, err := ask(t.Context(), p.addr, args...)
		if err != nil {
			t.Fatal(err)
		}
		out := []string{answer.text}
		for _, elem := range answer.elems {
			out = append(out, elem.text)
		}
		return out
	}
	sum := call("SCRIPT", "LOAD", gcra)[0]
	i := slices.IndexFunc(rows(nil), func(r row) bool { return len(r.setup) > 0 })
	if command := rows(nil)[i].command; command[1] != sum {
		t.Fatalf("the row calls %s, Redis calls the script %s", command[1], sum)
	}

	const day = "86400000"
	for _, want := range [][]string{{"1", "3", "2", "0"}, {"1", "3", "1", "0"}, {"1", "3", "0", "0"}} {
		if got := call("EVALSHA", sum, "1", "key", "3", day)[1:]; !slices.Equal(got[:4], want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	stored := call("GET", "key")[0]
	got := call("EVALSHA", sum, "1", "key", "3", day)[1:]
	if !slices.Equal(got[:3], []string{"0", "3", "0"}) || got[3] == "0" {
		t.Errorf("the fourth of three: %v", got)
	}
	if after := call("GET", "key")[0]; after != stored || strings.ContainsAny(stored, ".e") {
		t.Errorf("a denial made %s of %s", after, stored)
	}
}

func TestServerEnv(t *testing.T) {
	got := serverEnv([]string{"HOME=/", "RLSERVER_MAX_MEMORY=1mb"})
	if !slices.Equal(got, []string{"HOME=/", "RLSERVER_ADMIN_ADDR=127.0.0.1:0"}) {
		t.Errorf("got %q", got)
	}
}

func TestFreeAddr(t *testing.T) {
	addr, err := freeAddr()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}
