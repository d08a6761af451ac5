package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/snapshot"
)

// TestSaveInPieces: a save is told of at its end, to all who asked for it
// meanwhile, and what changes is written before that.
func TestSaveInPieces(t *testing.T) {
	store, err := newStore(&config{maxMemory: 1 << 20, sweepIdle: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	dir, now := filepath.Join(t.TempDir(), "buckets"), int64(1e18)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	disk, _, err := snapshot.Open(snapshot.Config{FS: snapshot.Dir(dir), Store: store, Sync: snapshot.SyncAlways, Reserve: 1}, now)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	teller := func(name string) func(error) {
		return func(err error) { told = append(told, fmt.Sprint(name, ": ", err)) }
	}
	stopped := errors.New("it stopped")
	why := func() error { return stopped }

	var s saving
	if s.next() != nil {
		t.Error("there is nothing to do")
	}
	s.begin(disk, now, teller("first"))
	spec := limit.Spec{Algorithm: limit.TokenBucket, Limit: 10, Window: 1e12, Burst: 10}
	for pieces := 0; len(s.waiting) > 0; pieces++ {
		<-s.next()
		if pieces == 3 {
			s.begin(disk, now, teller("second"))
			if _, err := store.Decide([]byte("k"), spec, limit.Request{Cost: 1}, now); err != nil {
				t.Fatal(err)
			}
			disk.Write(now)
		}
		disk.GoOn(now)
		if pieces == 3 && disk.Stats().JournalRecords != 1 {
			t.Error("what changed is not written while everything is saved")
		}
		if s.look(disk, why); pieces < 3 && len(told) > 0 {
			t.Fatalf("after %d pieces: %s", pieces, told)
		}
	}
	if want := "[first: <nil> second: <nil>]"; fmt.Sprint(told) != want {
		t.Errorf("got %s, want %s", told, want)
	}

	told = nil
	s.begin(disk, now, teller("third"))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for len(s.waiting) > 0 {
		<-s.next()
		disk.GoOn(now)
		s.look(disk, why)
	}
	s.begin(disk, now, teller("fourth"))
	if len(told) != 2 || told[0] != "third: it stopped" || told[1] == "fourth: <nil>" {
		t.Errorf("where the directory is gone: %q", told)
	}
}
