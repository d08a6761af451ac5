package raftfsm

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// A call that hangs is reported once, by what the clock says.
func TestStoreHangs(t *testing.T) {
	bolt, err := openStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	s := newStore(bolt, func() time.Time { return now }, func(err error) { t.Error(err) })
	entered, release := make(chan struct{}), make(chan struct{})
	s.delay = func() { close(entered); <-release }
	done := make(chan error, 1)
	go func() { done <- s.SetUint64([]byte("k"), 1) }()
	<-entered
	if err := s.hangs(5 * time.Second); err != nil {
		t.Error(err)
	}
	now = now.Add(time.Hour) // nobody looked: the process stood still
	for range 21 {
		if err := s.hangs(5 * time.Second); err != nil {
			t.Error(err)
		}
		now = now.Add(250 * time.Millisecond)
	}
	now = now.Add(-250 * time.Millisecond)
	now = now.Add(time.Millisecond)
	if err := s.hangs(5 * time.Second); err == nil || !strings.Contains(err.Error(), "the disk has not answered for 5.001s") {
		t.Error(err)
	}
	if err := s.hangs(5 * time.Second); err != nil {
		t.Errorf("again: %v", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Errorf("the write that hung: %v", err)
	}
	// Nothing is written after it.
	if err := s.StoreLog(&raft.Log{Index: 1}); err == nil {
		t.Error("it was written")
	}
	if err := bolt.Close(); err != nil {
		t.Error(err)
	}
}

// An entry that is not what was written is refused, whatever its bytes say.
func TestStoreChecksEntries(t *testing.T) {
	bolt, err := openStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var fatal error
	s := newStore(bolt, time.Now, func(err error) { fatal = err })
	written := &raft.Log{Index: 7, Term: 3, Type: raft.LogCommand, Data: []byte("LIMIT 5")}
	if err := s.StoreLog(written); err != nil {
		t.Fatal(err)
	}
	var read raft.Log
	if err := s.GetLog(7, &read); err != nil || string(read.Data) != "LIMIT 5" || read.Extensions != nil || written.Extensions != nil {
		t.Errorf("%+v, %v", read, err)
	}
	for name, change := range map[string]func(*raft.Log){
		"data":        func(l *raft.Log) { l.Data = []byte("LIMIT 4") },
		"term":        func(l *raft.Log) { l.Term++ },
		"index":       func(l *raft.Log) { l.Index++ },
		"type":        func(l *raft.Log) { l.Type = raft.LogNoop },
		"no checksum": func(l *raft.Log) { l.Extensions = nil },
	} {
		changed := withSum(written)
		change(changed)
		if err := checkSum(7, changed); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
	if err := bolt.StoreLog(written); err != nil { // as if damaged
		t.Fatal(err)
	}
	if err := s.GetLog(7, &read); err == nil || fatal == nil || !strings.Contains(fatal.Error(), "entry 7 is damaged") {
		t.Errorf("%v, %v", err, fatal)
	}
	if err := bolt.Close(); err != nil {
		t.Error(err)
	}
}

// A write that fails is fatal, and is not tried again.
func TestStoreFails(t *testing.T) {
	bolt, err := openStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var fatal []error
	s := newStore(bolt, time.Now, func(err error) { fatal = append(fatal, err) })
	if _, err := s.Get([]byte("nothing")); err == nil || len(fatal) > 0 {
		t.Errorf("what is not there: %v, %v", err, fatal)
	}
	if err := s.GetLog(1, &raft.Log{}); !errors.Is(err, raft.ErrLogNotFound) || len(fatal) > 0 {
		t.Errorf("what is not there: %v, %v", err, fatal)
	}
	if err := bolt.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.StoreLog(&raft.Log{Index: 1}); err == nil {
			t.Error("it was written to a closed file")
		}
	}
	if len(fatal) != 1 || !strings.Contains(fatal[0].Error(), "the replicated log failed") {
		t.Errorf("%v", fatal)
	}
}

// A node whose disk hangs says so, and would end.
func TestNodeWithAHangingDisk(t *testing.T) {
	fatal := make(chan error, 1)
	cfg := testConfig(t.TempDir(), "n1", fatal)
	release, hang := make(chan struct{}), make(chan struct{})
	var now atomic.Int64
	cfg.Now = func() time.Time {
		select {
		case <-hang:
			return time.Unix(0, now.Add(int64(tendEvery)))
		default:
			return time.Unix(0, now.Load())
		}
	}
	var hanging atomic.Bool
	cfg.StoreDelay = func() {
		if hanging.CompareAndSwap(true, false) {
			close(hang)
			<-release
		}
	}
	n, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Register(t.Context(), 1, 1e9); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a cluster id", func() bool { return n.View().Cluster != "" })
	hanging.Store(true)
	done := make(chan error, 1)
	go func() { _, err := n.Propose(t.Context(), NodeAdd{"x"}); done <- err }()
	if err := <-fatal; !strings.Contains(err.Error(), "the replicated log hangs") {
		t.Error(err)
	}
	if err := <-done; err == nil {
		t.Error("the write was made")
	}
	close(release)
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

// The log of a node that belongs to a cluster is not begun anew.
func TestLostLog(t *testing.T) {
	dir := t.TempDir()
	if err := checkLog(dir, ""); err != nil {
		t.Error(err)
	}
	for range 2 { // no file, and an empty one
		if err := checkLog(dir, "c"); err == nil || !strings.Contains(err.Error(), "it is empty, and this node belongs to cluster c") {
			t.Error(err)
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(logPath(dir)), 0o700), os.WriteFile(logPath(dir), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// A damaged log is refused, with what to do about it.
func TestDamagedLog(t *testing.T) {
	dir := t.TempDir()
	fatal := make(chan error, 1)
	n, err := Open(testConfig(dir, "n1", fatal))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(n.Register(t.Context(), 1, 1e9), n.Close()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(logPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func([]byte) []byte{
		"no log":      func(b []byte) []byte { return []byte(strings.Repeat("garbage\n", len(b)/8)) },
		"zeros":       func(b []byte) []byte { return make([]byte, len(b)) },
		"a short one": func(b []byte) []byte { return b[:100] },
		"no pages":    func(b []byte) []byte { return b[:2*os.Getpagesize()] },
		"one of two":  func(b []byte) []byte { b[30]++; return b },
	} {
		if err := os.WriteFile(logPath(dir), damage(append([]byte(nil), whole...)), 0o600); err != nil {
			t.Fatal(err)
		}
		n, err := Open(testConfig(dir, "n1", fatal))
		if err == nil {
			t.Errorf("%s: it was opened", name)
			_ = n.Close()
			continue
		}
		if !strings.Contains(err.Error(), "cannot be read") || !strings.Contains(err.Error(), "restore the directory from a backup") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Recover(dir, time.Now, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%s: it was recovered", name)
		}
	}
	if err := os.WriteFile(logPath(dir), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err = Open(testConfig(dir, "n1", fatal)); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "node-id"), []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(testConfig(dir, "n1", fatal)); err == nil || !strings.Contains(err.Error(), "must hold 40 hex digits") {
		t.Error(err)
	}
}

// An entry of the future ends the node before it changes anything.
func TestEntryOfTheFuture(t *testing.T) {
	fatal := make(chan error, 1)
	n, err := Open(testConfig(t.TempDir(), "n1", fatal))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Register(t.Context(), 1, 1e9); err != nil {
		t.Fatal(err)
	}
	before := n.View()
	_ = n.raft.Apply(append([]byte{99, 1}, make([]byte, 16)...), time.Second).Error()
	var unknown *UnknownEntryError
	if err := <-fatal; !errors.As(err, &unknown) || unknown.Type != 99 {
		t.Error(err)
	}
	if _, err := n.Propose(t.Context(), NodeAdd{"x"}); err == nil {
		t.Error("it goes on")
	}
	if n.View().Index > before.Index+1 {
		t.Errorf("%+v", n.View())
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	// The leader refuses it before it is in the log.
	m := &Node{}
	if _, err := m.apply(t.Context(), []byte{99, 1}); err == nil {
		t.Error("it was proposed")
	}
}

func TestConfigIsChecked(t *testing.T) {
	_, err := Open(Config{})
	for _, want := range []string{"no directory", "no name", "no clock", "no source of random bytes", "no logger", "no function for fatal errors", "at least 1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
