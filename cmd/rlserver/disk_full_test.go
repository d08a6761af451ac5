//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// smallDisk is a directory for --dir whose buckets are on a disk of some
// bytes, in memory. Only root can have one.
func smallDisk(t *testing.T, bytes int) (dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("*** SKIPPED: only root can mount a disk to fill")
	}
	dir = t.TempDir()
	at := filepath.Join(dir, "buckets")
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", at, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("a disk to fill: %v", err)
		}
		t.Skipf("*** SKIPPED: a disk to fill: %v", err)
	}
	t.Cleanup(func() { // after the servers have stopped
		if err := syscall.Unmount(at, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fillDisk writes a file that leaves so many bytes, and returns what removes
// it.
func fillDisk(t *testing.T, dir string, leave int64) (free func()) {
	t.Helper()
	at := filepath.Join(dir, "buckets")
	var disk syscall.Statfs_t
	if err := syscall.Statfs(at, &disk); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(at, "ballast")
	if err := os.WriteFile(name, make([]byte, int64(disk.Bavail)*disk.Bsize-leave), 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// countKeys takes a unit of each of n keys, which all must get.
func countKeys(t *testing.T, s *serverProcess, n int) {
	t.Helper()
	c := dial(t, s.addr, nil)
	for i := range n {
		c.expect(t, fmt.Sprintf("RL.ALLOW k%d 1000 30d", i), "[:1 ")
	}
}

// expectCounts: of each of n keys so many units were taken. A day gives none
// back within the time of a test.
func expectCounts(t *testing.T, s *serverProcess, n, units int) {
	t.Helper()
	c := dial(t, s.addr, nil)
	want := fmt.Sprintf("[:1 :1000 :%d ", 1000-units)
	for i := range n {
		if reply := c.ask(t, fmt.Sprintf("RL.ALLOW k%d 1000 30d COST 0", i)); !strings.HasPrefix(reply, want) {
			t.Fatalf("k%d: %s, want %s", i, reply, want)
		}
	}
}

const (
	logStopped = "changes are not written to the disk; decisions go on, it is tried again"
	logResumed = "changes are written to the disk again"
)

// expectStopped: log, INFO and metrics tell that nothing is written, and why.
func expectStopped(t *testing.T, s *serverProcess, why string) {
	t.Helper()
	if line := s.expectLog(t, logStopped); !strings.Contains(line["err"].(string), why) {
		t.Errorf("the log says %s, want %s", line["err"], why)
	}
	info := dial(t, s.addr, nil).ask(t, "INFO persistence")
	for _, want := range []string{"aof_last_write_status:err", "buckets_stopped:", why, "buckets_failures:1\r\n"} {
		if !strings.Contains(info, want) {
			t.Errorf("INFO lacks %q: %s", want, info)
		}
	}
	expectDiskMetrics(t, s, "stopped 1", "failures_total 1")
}

// expectResumed: writing goes on by itself soon after there is room, and all
// is written anew.
func expectResumed(t *testing.T, s *serverProcess) {
	t.Helper()
	freed := time.Now()
	s.expectLog(t, logResumed)
	if took := time.Since(freed); took > 15*time.Second {
		t.Errorf("writing went on only after %s", took)
	}
	s.expectLog(t, "saved")
	info := dial(t, s.addr, nil).ask(t, "INFO persistence")
	if !strings.Contains(info, "aof_last_write_status:ok") || strings.Contains(info, "buckets_stopped") {
		t.Errorf("INFO says that nothing is written: %s", info)
	}
	expectDiskMetrics(t, s, "stopped 0", "failures_total 1")
}

func expectDiskMetrics(t *testing.T, s *serverProcess, want ...string) {
	t.Helper()
	_, metrics := httpGet(t, "http://"+s.atHTTP+"/metrics", "", "")
	for _, w := range want {
		if !strings.Contains(metrics, "\nrlserver_disk_"+w+"\n") {
			t.Errorf("the metrics have no line rlserver_disk_%s", w)
		}
	}
}

// TestFullDisk: a disk without any room left, in the middle of a write. What
// was written before is found after a crash, and once there is room again, so
// is everything.
func TestFullDisk(t *testing.T) {
	t.Parallel() // most of it is the ten seconds after which it is tried again
	const keys = 1000
	dir := smallDisk(t, 8<<20)
	args := []string{"--dir", dir, "--disk-reserve", "0"}
	s := startServer(t, args...)
	countKeys(t, s, keys)
	dial(t, s.addr, nil).expect(t, "RL.SAVE", "+OK")
	s.expectLog(t, "saved")
	free := fillDisk(t, dir, 8<<10) // some records fit, not all
	countKeys(t, s, keys)
	expectStopped(t, s, "no space left on device")
	countKeys(t, s, keys)
	expectCounts(t, s, keys, 3)
	dial(t, s.addr, nil).expect(t, "RL.SAVE", "-ERR")
	free()
	expectResumed(t, s)
	s.kill(t)
	s = startServer(t, args...)
	expectCounts(t, s, keys, 3)

	// A crash while nothing was written: the last count is lost for some keys
	// and not for others.
	dial(t, s.addr, nil).expect(t, "RL.SAVE", "+OK") // so that no file is written or removed meanwhile
	free = fillDisk(t, dir, 8<<10)
	countKeys(t, s, keys)
	expectStopped(t, s, "")
	s.kill(t)
	free()
	s = startServer(t, args...)
	c, found := dial(t, s.addr, nil), 0
	for i := range keys {
		reply := c.ask(t, fmt.Sprintf("RL.ALLOW k%d 1000 30d COST 0", i))
		switch {
		case strings.HasPrefix(reply, "[:1 :1000 :996 "):
			found++
		case !strings.HasPrefix(reply, "[:1 :1000 :997 "):
			t.Fatalf("k%d after a crash: %s", i, reply)
		}
	}
	t.Logf("after a crash %d of %d keys have their last count", found, keys)
}

// TestDiskAtReserve: writing stops while others still have room. A server that
// is told to stop may use it: nothing is lost. It starts again as it is, and
// writes when there is room.
func TestDiskAtReserve(t *testing.T) {
	t.Parallel()
	const keys = 1000
	dir := smallDisk(t, 16<<20)
	args := []string{"--dir", dir, "--disk-reserve", "8mb"}
	s := startServer(t, args...)
	countKeys(t, s, keys)
	free := fillDisk(t, dir, 4<<20)
	countKeys(t, s, keys)
	const why = "the disk is full but for the reserve"
	expectStopped(t, s, why)
	countKeys(t, s, keys)
	dial(t, s.addr, nil).expect(t, "RL.SAVE", "-ERR")
	s.stop(t)
	s = startServer(t, args...)
	expectCounts(t, s, keys, 3)
	countKeys(t, s, keys)
	expectStopped(t, s, why)
	free()
	expectResumed(t, s)
	s.kill(t)
	s = startServer(t, args...)
	expectCounts(t, s, keys, 4)
}

// TestStartOnFullDisk: a server that could not tell a crash from a clean stop
// does not start, and says why.
func TestStartOnFullDisk(t *testing.T) {
	dir := smallDisk(t, 8<<20)
	s := startServer(t, "--dir", dir)
	countKeys(t, s, 10)
	s.stop(t)
	free := fillDisk(t, dir, 0)
	got := execute(t, serverCommand(t, "--dir", dir, "--addr", "127.0.0.1:0", "--admin-addr", ""))
	if got.exit != 1 || !strings.Contains(got.stderr, "no space left on device") {
		t.Errorf("%+v", got)
	}
	free()
	s = startServer(t, "--dir", dir)
	expectCounts(t, s, 10, 1)
}
