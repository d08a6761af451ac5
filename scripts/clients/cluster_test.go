package clients

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// clusterNodes is how many nodes the cluster has: the least that outlives one.
const clusterNodes = 3

// TestCluster runs each snippet against a cluster: what it tells one node it
// must read there at once, and within two seconds on the others. Each client
// begins with another node than the one before it, so that some tell the leader
// and some a follower.
func TestCluster(t *testing.T) {
	t.Parallel()
	ports := startCluster(t)
	for i, c := range clients() {
		t.Run(fmt.Sprintf("%s/RESP%d", c.name, c.protocol), func(t *testing.T) {
			t.Logf("%s %s", c.name, c.installed(t))
			c.compile(t)
			defer clean(t, ports)
			first := i % clusterNodes
			c.ask(t, "127.0.0.1", slices.Concat(ports[first:], ports[:first])...)
		})
	}
}

// clean leaves nothing of a snippet to the next one, which asks for the same:
// no key, and no policy. The snippet has deleted it, if it came that far.
func clean(t *testing.T, ports []string) {
	t.Helper()
	ask(t, "127.0.0.1:"+ports[0], "RL.POLICY.DEL", "logins")
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(2 * time.Second)
	for _, port := range ports {
		addr := "127.0.0.1:" + port
		if reply := ask(t, addr, "FLUSHALL"); reply != "+OK" {
			t.Errorf("FLUSHALL: %s", reply)
		}
		for ask(t, addr, "RL.POLICY.GET", "logins") != "null" {
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatalf("%s has the policy two seconds after another node deleted it", addr)
			}
		}
	}
}

// startCluster starts a cluster as people do, with scripts/cluster and flags for
// all of its nodes, and returns their ports. Its data and its processes go with
// the test.
func startCluster(t *testing.T, flags ...string) []string {
	t.Helper()
	script, err := filepath.Abs("../cluster")
	if err != nil {
		t.Fatal(err)
	}
	// The script runs bin/rlserver beside the folder that it is in: here the
	// one that was built for the tests.
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "scripts"), 0o755); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(home, "scripts", "cluster")
	if err := os.Symlink(script, mine); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(bin, filepath.Join(home, "bin")); err != nil {
		t.Fatal(err)
	}
	port := clusterPort(t)
	run := func(args ...string) ([]byte, error) {
		cmd := exec.Command(mine, args...)
		cmd.Env = append(os.Environ(), "CLUSTER_DIR="+filepath.Join(home, "data"), "CLUSTER_PORT="+strconv.Itoa(port), "CLUSTER_ARGS="+strings.Join(append(flags, "--drain-timeout", "1s"), " "))
		return cmd.CombinedOutput()
	}
	t.Cleanup(func() {
		if out, err := run("wipe"); err != nil {
			t.Errorf("scripts/cluster wipe: %v\n%s", err, out)
		}
	})
	if out, err := run("up", strconv.Itoa(clusterNodes)); err != nil {
		t.Fatalf("scripts/cluster up: %v\n%s", err, out)
	}
	var ports []string
	for n := range clusterNodes {
		ports = append(ports, strconv.Itoa(port+n))
	}
	return ports
}

// clusterPort is the port of a first node, such that those of all nodes are
// free: also those for HTTP, a thousand above, and of the bus, ten thousand
// above. None is one that the system gives to whoever asks for any.
func clusterPort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 12_000 + 10*rand.IntN(800)
		if allFree(port) && allFree(port+1000) && allFree(port+10_000) {
			return port
		}
	}
	t.Fatal("no ports are free for a cluster")
	return 0
}

func allFree(port int) bool {
	for n := range clusterNodes {
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+n)))
		if err != nil {
			return false
		}
		listener.Close()
	}
	return true
}
