package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A damage is what a disk may do to the replicated log.
type damage struct {
	name string
	do   func([]byte) []byte
}

const pageSize = 4096 // of the log's file

func truncated(name string, size int) damage {
	return damage{"truncated to " + name, func(b []byte) []byte { return b[:size] }}
}

func zeroed(page int) damage {
	return damage{fmt.Sprintf("page %d zeroed", page), func(b []byte) []byte {
		clear(b[page*pageSize : (page+1)*pageSize])
		return b
	}}
}

func flipped(name string, at int, bit byte) damage {
	return damage{fmt.Sprintf("bit %d of byte %d (%s) flipped", bit, at, name), func(b []byte) []byte {
		b[at] ^= 1 << bit
		return b
	}}
}

// damages are those of a log that holds the policy: each page zeroed and with
// a flipped bit, the policy itself with another limit, and parts missing.
func damages(whole []byte, policy string) []damage {
	all := []damage{
		truncated("nothing", 0), truncated("100 bytes", 100), truncated("a page", pageSize),
		truncated("a half", len(whole)/2/pageSize*pageSize), truncated("all but a page", len(whole)-pageSize),
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same in each run
	for page := range len(whole) / pageSize {
		if len(bytes.Trim(whole[page*pageSize:(page+1)*pageSize], "\x00")) == 0 {
			continue
		}
		all = append(all, zeroed(page), flipped("head", page*pageSize+random.IntN(64), byte(random.IntN(8))),
			flipped("any", page*pageSize+random.IntN(pageSize), byte(random.IntN(8))))
	}
	for at := 0; ; {
		i := bytes.Index(whole[at:], []byte(policy))
		if i < 0 {
			return all
		}
		at += i + len(policy)
		all = append(all, flipped("behind a name", at+1, 0), flipped("behind a name", at+3, 0))
	}
}

// outcome starts a node whose log is damaged: it ends and says what can be
// done, or it runs.
func (n *clusterNode) outcome(t *testing.T, name string, more ...string) (runs bool) {
	t.Helper()
	n.start(t, more...)
	eventually(t, name+": it is ready, or ends", func() bool {
		select {
		case <-n.ended:
			return true
		default:
			line, _ := n.log.take("ready")
			runs = line != nil
			n.addr, n.atBus = field(line, "addr"), field(line, "bus-addr")
			return runs
		}
	})
	if runs {
		return true
	}
	_ = n.wait(t)
	text := n.log.String()
	if code := n.cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(text, "restore the directory from a backup") || strings.Contains(text, "goroutine ") {
		t.Errorf("%s: it ended with code %d, and does not say what can be done:\n%s", name, code, text)
	}
	return false
}

// whole is the log of a node that does not run.
func (n *clusterNode) whole(t *testing.T) []byte {
	t.Helper()
	whole, err := os.ReadFile(n.logFile())
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

func (n *clusterNode) logFile() string { return filepath.Join(n.dir, "raft", "log.db") }

func (n *clusterNode) replaceLog(t *testing.T, with []byte) {
	t.Helper()
	if err := os.WriteFile(n.logFile(), with, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedLogAlone: a node that is alone and whose log was damaged refuses
// to start and says what can be done, or has the right policies, all of them.
func TestDamagedLogAlone(t *testing.T) {
	n := newClusterNode(t, "n1")
	n.secretFile = ""
	n.start(t).expectReady(t)
	limits := map[string]int{}
	for i := range 30 {
		name := fmt.Sprintf("policy-%02d", i)
		limits[name] = 1000 + i
		n.set(t, name, limits[name])
	}
	eventually(t, "it has noted its cluster", func() bool {
		_, err := os.Stat(filepath.Join(n.dir, "cluster-id"))
		return err == nil
	})
	n.kill(t)
	kept := t.TempDir() + "/kept"
	if err := os.CopyFS(kept, os.DirFS(n.dir)); err != nil {
		t.Fatal(err)
	}
	whole := n.whole(t)
	ran := 0
	all := damages(whole, "policy-07")
	for _, d := range all {
		if err := os.RemoveAll(n.dir); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(n.dir, os.DirFS(kept)); err != nil {
			t.Fatal(err)
		}
		n.replaceLog(t, d.do(bytes.Clone(whole)))
		if !n.outcome(t, d.name) {
			continue
		}
		ran++
		for name, limit := range limits {
			if !n.knows(name, limit) {
				reply, err := n.try("RL.POLICY.GET " + name)
				t.Errorf("%s: it runs, and of %s it says %s %v", d.name, name, reply, err)
				break
			}
		}
		n.kill(t)
	}
	t.Logf("of %d damages to %d bytes it ran with %d, as if nothing was", len(all), len(whole), ran)
}

// TestDamagedLogOfThree: the log of one of three is damaged while it is down.
// It refuses to start and says what can be done, or has the right policies; the
// others go on. What is advised works: removed and wiped it joins anew.
func TestDamagedLogOfThree(t *testing.T) {
	nodes := threeNodes(t)
	leader, others := leaderOf(t, nodes...)
	n, stays := others[0], others[1]
	limits := map[string]int{}
	for i := range 10 {
		name := fmt.Sprintf("policy-%02d", i)
		limits[name] = 1000 + i
		leader.set(t, name, limits[name])
	}
	n.expectPolicies(t, limits)
	n.kill(t)
	whole := n.whole(t)
	last := len(whole)/pageSize - 1
	for len(bytes.Trim(whole[last*pageSize:], "\x00")) == 0 {
		last--
	}
	text := bytes.LastIndex(whole, []byte("policy-07")) + len("policy-07")
	for _, d := range []damage{
		truncated("nothing", 0), truncated("a half", len(whole)/2/pageSize*pageSize), zeroed(0), zeroed(3), zeroed(last),
		flipped("behind a name", text+1, 0), flipped("behind a name", text+3, 0),
	} {
		n.replaceLog(t, d.do(bytes.Clone(whole)))
		if n.outcome(t, d.name, "--join", leader.atBus) {
			t.Logf("%s: it runs", d.name)
			n.expectPolicies(t, limits)
			n.kill(t)
		}
	}
	n.replaceLog(t, whole[:0])
	n.start(t).expectEnd(t, "it is empty, and this node belongs to cluster")

	stays.ask(t, "RL.NODE.REMOVE "+n.name)
	if err := os.RemoveAll(n.dir); err != nil {
		t.Fatal(err)
	}
	n.start(t, "--join", leader.atBus).expectReady(t)
	n.expectPolicies(t, limits)
	limits["new"] = 5
	n.set(t, "new", 5)
	for _, one := range nodes {
		one.expectPolicies(t, limits)
	}
}

// TestDiskFull: no byte fits on the leader's disk any more. It serves no longer
// and ends, and the others go on with all that was acknowledged.
func TestDiskFull(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("A SMALL DISK CANNOT BE MOUNTED: run this test as root")
	}
	small := t.TempDir()
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=8m"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("a small disk cannot be mounted: %v", err)
		}
		t.Skipf("A SMALL DISK CANNOT BE MOUNTED: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(small, 0); err != nil {
			t.Error(err)
		}
	})
	first := newClusterNode(t, "n1")
	first.dir = filepath.Join(small, "data")
	nodes := joinedBy(t, first, "n2", "n3")
	leader, others := leaderOf(t, nodes...)
	if leader != first {
		t.Fatalf("%s leads, not the founder", leader.name)
	}
	first.set(t, "before", 5)
	fill(t, filepath.Join(small, "ballast"))
	w := writeThrough(t, others[0])
	_ = first.wait(t)
	if code := first.cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(first.log.String(), "no space left on device") {
		t.Errorf("it ended with code %d\n%s", code, first.log)
	}
	leaderOf(t, others...)
	others[1].set(t, "after", 6)
	w.end(t)
	w.made["before"], w.made["after"] = 5, 6
	for _, n := range others {
		n.expectPolicies(t, w.made)
	}
}

// fill writes a file until nothing more fits.
func fill(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	_ = f.Close() // the disk is full
}
