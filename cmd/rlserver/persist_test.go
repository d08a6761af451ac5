package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// remaining asks how much of a limit of 1000 a day is left of a key.
func remaining(t *testing.T, addr, key string) int {
	t.Helper()
	reply := dial(t, addr, nil).ask(t, "RL.ALLOW "+key+" 1000 1d COST 0")
	var allowed, limit, left int
	if _, err := fmt.Sscanf(reply, "[:%d :%d :%d ", &allowed, &limit, &left); err != nil {
		t.Fatalf("%s: %s", key, reply)
	}
	return left
}

func (s *serverProcess) kill(t *testing.T) {
	t.Helper()
	s.signal(t, syscall.SIGKILL)
	<-s.ended
	s.err = nil // it was meant to
}

// strictPolicy is one whose buckets start empty where counts were lost.
const strictPolicy = "RL.POLICY.SET strict LIMIT 10 WINDOW 1d CLIENT login ONERROR closed ONLOSS empty FORCE"

func TestCleanRestartForgetsNothing(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, "--dir", dir)
	c := dial(t, s.addr, nil)
	for i := range 50 {
		c.ask(t, fmt.Sprintf("RL.ALLOW k%d 1000 1d COST %d", i, i+1))
	}
	c.ask(t, "RL.RESET k9")
	c.ask(t, strictPolicy)
	c.ask(t, "RL.CHECK login")
	s.stop(t)
	for range 2 {
		s = startServer(t, "--dir", dir)
		for i := range 50 {
			want := 1000 - (i + 1)
			if i == 9 {
				want = 1000
			}
			if got := remaining(t, s.addr, fmt.Sprintf("k%d", i)); got != want {
				t.Errorf("k%d: %d remain, want %d", i, got, want)
			}
		}
		if reply := dial(t, s.addr, nil).ask(t, "RL.CHECK login PEEK"); !strings.HasPrefix(reply, "[:1 :10 :8 ") {
			t.Errorf("the strict key: %s", reply)
		}
		s.stop(t)
	}
}

// TestKilledWithSyncAlways: no reply leaves before what it tells is on the
// disk. Strict keys do not rely on that.
func TestKilledWithSyncAlways(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, "--dir", dir, "--sync", "always")
	dial(t, s.addr, nil).ask(t, strictPolicy)
	for i := range 5 {
		c := dial(t, s.addr, nil)
		c.ask(t, "RL.ALLOW k 1000 1d COST 7")
		c.ask(t, "RL.CHECK login")
		s.kill(t)
		s = startServer(t, "--dir", dir, "--sync", "always")
		if got, want := remaining(t, s.addr, "k"), 1000-7*(i+1); got != want {
			t.Fatalf("after %d kills %d remain, want %d", i+1, got, want)
		}
		if reply := dial(t, s.addr, nil).ask(t, "RL.CHECK login"); !strings.HasPrefix(reply, "[:0 :10 :0 ") {
			t.Errorf("a strict key after a crash: %s", reply)
		}
	}
}

// TestKilledUnderLoad kills the server at random moments. What is lost is at
// most what was counted in the last second, with some room for a busy machine.
// RLSERVER_TEST_KILLS says how often, twice if it does not.
func TestKilledUnderLoad(t *testing.T) {
	kills := 2
	if text := os.Getenv("RLSERVER_TEST_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for kill := range kills {
		key := fmt.Sprintf("k%d", kill)
		s := startServer(t, "--dir", dir)
		c := dial(t, s.addr, nil)
		// counted[i] is how many units were taken when, in the order of time.
		type count struct {
			at    time.Time
			units int
		}
		var counted []count
		until := time.Now().Add(time.Duration(rng.Int64N(int64(2500 * time.Millisecond))))
		for units := 1; time.Now().Before(until); units++ {
			if reply := c.ask(t, "RL.ALLOW "+key+" 1000000 1d"); !strings.HasPrefix(reply, "[:1 ") {
				t.Fatal(reply)
			}
			counted = append(counted, count{time.Now(), units})
		}
		killed := time.Now()
		s.kill(t)
		s = startServer(t, "--dir", dir)
		least := 0 // what must be there
		for _, n := range counted {
			if killed.Sub(n.at) > 1500*time.Millisecond {
				least = n.units
			}
		}
		left := dial(t, s.addr, nil).ask(t, "RL.ALLOW "+key+" 1000000 1d COST 0")
		var allowed, limit, rest int
		if _, err := fmt.Sscanf(left, "[:%d :%d :%d ", &allowed, &limit, &rest); err != nil {
			t.Fatal(left)
		}
		// A day earns 1,000,000: some 12 units a second have come back.
		if there := 1_000_000 - rest; there < least-200 || there > len(counted) {
			t.Errorf("%d units of %d are known, at least %d must be", there, len(counted), least)
		}
		s.stop(t)
	}
}

// TestBackup: a directory that was copied after RL.SAVE has all counts, and
// rlserver inspect shows them.
func TestBackup(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, "--dir", dir)
	c := dial(t, s.addr, nil)
	c.ask(t, "RL.ALLOW saved 1000 1d COST 400")
	if reply := c.ask(t, "RL.SAVE"); reply != "+OK" {
		t.Fatal(reply)
	}
	info := c.ask(t, "INFO persistence")
	for _, want := range []string{"loading:0", "rdb_last_bgsave_status:ok", "aof_last_write_status:ok", "buckets_saves:1"} {
		if !strings.Contains(info, want) {
			t.Errorf("INFO lacks %s: %s", want, info)
		}
	}
	_, metrics := httpGet(t, "http://"+s.atHTTP+"/metrics", "", "")
	for _, want := range []string{
		"loading 0", "stopped 0", "saves_total 1", "failures_total 0", "damaged_total 0",
	} {
		if !strings.Contains(metrics, "\nrlserver_disk_"+want+"\n") {
			t.Errorf("the metrics have no line rlserver_disk_%s", want)
		}
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	s.stop(t)
	files, err := filepath.Glob(filepath.Join(copied, "buckets", "*.snapshot"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if got := execute(t, serverCommand(t, "inspect", files[0])); got.exit != 0 || !strings.Contains(got.stdout, "saved") {
		t.Errorf("%+v", got)
	}
	s = startServer(t, "--dir", copied)
	if got := remaining(t, s.addr, "saved"); got != 600 {
		t.Errorf("%d remain", got)
	}
}

// TestBucketsCannotBeKept: a directory that cannot be used ends the start, and
// says why.
func TestBucketsCannotBeKept(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "buckets"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := execute(t, serverCommand(t, "--dir", dir, "--addr", "127.0.0.1:0", "--admin-addr", ""))
	if got.exit != 1 || !strings.Contains(got.stderr, "the directory of the buckets cannot be made") {
		t.Errorf("%+v", got)
	}
}
