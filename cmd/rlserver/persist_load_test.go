package main

import (
	"bufio"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/snapshot"
	"github.com/rlserver/rlserver/state"
)

// longJournal writes a journal that takes a while to read: the same key again
// and again, of which a unit is taken in the end.
func longJournal(t *testing.T, dir string) {
	t.Helper()
	store, err := newStore(&config{maxMemory: 1 << 20, sweepIdle: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UnixNano()
	spec := limit.Spec{Algorithm: limit.TokenBucket, Limit: 1000, Window: 30 * 24 * int64(time.Hour), Burst: 1000}
	if _, err := store.Decide([]byte("k"), spec, limit.Request{Cost: 1}, now); err != nil {
		t.Fatal(err)
	}
	slot := snapshot.Slot{Slot: state.Slot([]byte("k")), Written: now}
	store.Records(slot.Slot, now, func(_ int64, records []state.Record) {
		for range 1000 {
			slot.Records = append(slot.Records, records...)
		}
		for i := range slot.Records {
			slot.Records[i].Key = []byte("k") // that of records is valid only here
		}
	})
	buckets := filepath.Join(dir, "buckets")
	if err := os.Mkdir(buckets, 0o700); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(buckets, "buckets-000001.journal"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	out := bufio.NewWriter(file)
	w, err := snapshot.NewWriter(out, snapshot.Header{Written: now, Number: 1})
	if err != nil {
		t.Fatal(err)
	}
	for range 5000 {
		if err := w.Slot(&slot); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
}

// TestWhileLoading: a node that reads its files decides nothing, says so over
// HTTP at once and to clients after a second, and is alive.
func TestWhileLoading(t *testing.T) {
	dir := t.TempDir()
	longJournal(t, dir)
	addr, door := freeAddr(t), freeAddr(t) // they are not known from the log yet
	cmd := serverCommand(t, "--dir", dir, "--addr", addr, "--admin-addr", door, "--log-format", "json")
	s := &serverProcess{log: newServerLog(), addr: addr, atHTTP: door}
	cmd.Stderr = s.log
	s.process = start(t, cmd)
	t.Cleanup(func() { s.stop(t) })

	waiting := time.NewTicker(time.Millisecond)
	defer waiting.Stop()
	for begun := time.Now(); ; <-waiting.C {
		if conn, err := net.Dial("tcp", door); err == nil {
			conn.Close()
			break
		}
		if time.Since(begun) > patience {
			t.Fatalf("nobody serves HTTP\n%s", s.log)
		}
	}
	expectDiskMetrics(t, s, "loading 1")
	for path, want := range map[string]int{"/readyz": http.StatusServiceUnavailable, "/healthz": http.StatusOK} {
		if status, body := httpGet(t, "http://"+door+path, "", ""); status != want {
			t.Errorf("%s: status %d %s", path, status, body)
		}
	}
	const question, counted = "RL.ALLOW k 1000 30d COST 0", "[:1 :1000 :999 "
	if reply := dial(t, addr, nil).ask(t, question); !strings.HasPrefix(reply, counted) { // a fast machine has it within the second
		if !strings.HasPrefix(reply, "-LOADING rlserver is starting: it loads the buckets from the disk") {
			t.Error(reply)
		}
	}
	s.expectLog(t, "ready")
	dial(t, addr, nil).expect(t, question, counted)
	expectDiskMetrics(t, s, "loading 0")
}

// freeAddr is an address of this machine on which nobody listens.
func freeAddr(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}
