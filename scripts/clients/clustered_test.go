package clients

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// clustered is a library's client of clusters, and the program that uses it.
type clustered struct {
	client

	// onRedirect follows its arguments where nodes redirect.
	onRedirect string
}

func clusteredClients() []clustered {
	node := func(name, script, library, onRedirect string) clustered {
		return clustered{nodeClient(name, script, library, 0), onRedirect}
	}
	return []clustered{
		{client: goClient("go-redis", "clustered", "github.com/redis/go-redis/v9", 3, "go-redis")},
		{client: goClient("rueidis", "clustered", "github.com/redis/rueidis", 3, "rueidis")},
		{client: client{
			name: "redis-py", run: []string{"/usr/bin/python3", "python/clustered.py"},
			version: []string{"/usr/bin/python3", "-c", "import redis; print(redis.__version__)"}, install: byApt + "python3-redis",
		}},
		node("ioredis 5", "ioredis-clustered.mjs", "ioredis-5", "redirects"),
		node("ioredis 6", "ioredis-clustered.mjs", "ioredis-6", "redirects"),
		node("node-redis 4", "node-redis-clustered.mjs", "redis-4", ""),
		node("node-redis 5", "node-redis-clustered.mjs", "redis-5", ""),
		node("node-redis 6", "node-redis-clustered.mjs", "redis-6", ""),
		{client: client{
			name: "redis-cli", run: []string{"sh", "shell/clustered.sh"},
			version: []string{"sh", "-c", "redis-cli --version | sed 's/redis-cli //'"}, install: byApt + "redis-tools",
		}},
	}
}

// wantClustered is what each program prints: two of three requests pass for
// each of 30 keys, one for each of 30 others, and five clients of a policy.
const wantClustered = "allow 30\nallow 30\nallow 0\npipeline 30\ncheck 5\n"

// TestClusteredClients lets clients of clusters decide against three nodes, that
// ask each other and that send them on.
func TestClusteredClients(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"forward", "redirect"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			var flags []string
			if mode == "redirect" {
				flags = []string{"--redirect"}
			}
			ports := startCluster(t, flags...)
			oneMap(t, ports)
			t.Run("redis-cli --cluster check", func(t *testing.T) {
				if out := succeed(t, "redis-cli", "--cluster", "check", "127.0.0.1:"+ports[0]); !strings.Contains(out, "All 16384 slots covered") {
					t.Error(out)
				}
			})
			for i, c := range clusteredClients() {
				t.Run(c.name, func(t *testing.T) {
					t.Logf("%s %s", c.name, c.installed(t))
					defer clean(t, ports)
					first := i % clusterNodes
					before := decisionsOf(t, ports)
					args := append(append(c.run[1:], "127.0.0.1", ports[first]), c.args...)
					if mode == "redirect" && c.onRedirect != "" {
						args = append(args, c.onRedirect)
					}
					everyNode(t, ports)
					if got := succeed(t, c.run[0], args...); got != wantClustered {
						t.Errorf("it printed\n%s\nwant\n%s", got, wantClustered)
					}
					for n, calls := range decisionsOf(t, ports) {
						if calls == before[n] && (mode == "redirect" || c.name != "redis-cli") {
							t.Errorf("it asked node %d for nothing", n+1)
						}
					}
				})
			}
			t.Run("redis-benchmark", func(t *testing.T) {
				if _, err := exec.LookPath("redis-benchmark"); err != nil {
					missing(t, "redis-benchmark", byApt+"redis-tools")
				}
				before := decisionsOf(t, ports)
				out := succeed(t, "redis-benchmark", "-h", "127.0.0.1", "-p", ports[0], "--cluster", "-q", "-n", "3000", "-r", "100", "RL.ALLOW", "{tag}:__rand_int__", "10", "1s")
				t.Logf("%s", out)
				sum := 0
				for n, calls := range decisionsOf(t, ports) {
					if calls == before[n] {
						t.Errorf("it asked node %d for nothing", n+1)
					}
					sum += calls - before[n]
				}
				if sum < 3000 {
					t.Errorf("%d decisions were made, want 3000", sum)
				}
			})
		})
	}
}

// oneMap waits until all nodes say the same about who owns what, and each owns
// a share.
func oneMap(t *testing.T, ports []string) {
	t.Helper()
	waitFor(t, "the same slots on all nodes", func() bool {
		map1 := ask(t, "127.0.0.1:"+ports[0], "CLUSTER", "SLOTS")
		for _, port := range ports {
			if !strings.Contains(map1, port) || ask(t, "127.0.0.1:"+port, "CLUSTER", "SLOTS") != map1 {
				return false
			}
		}
		return true
	})
}

// everyNode sets the policy by which clients are checked, and waits for it.
func everyNode(t *testing.T, ports []string) {
	t.Helper()
	ask(t, "127.0.0.1:"+ports[0], "RL.POLICY.SET", "logins", "LIMIT", "1000", "WINDOW", "1h")
	waitFor(t, "the policy on all nodes", func() bool {
		for _, port := range ports {
			if ask(t, "127.0.0.1:"+port, "RL.POLICY.GET", "logins") == "null" {
				return false
			}
		}
		return true
	})
}

func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// decisionsOf is how often clients called RL.ALLOW on each node.
func decisionsOf(t *testing.T, ports []string) (calls []int) {
	t.Helper()
	for _, port := range ports {
		n := 0
		for line := range strings.Lines(succeed(t, "redis-cli", "-p", port, "INFO", "commandstats")) {
			if rest, found := strings.CutPrefix(line, "cmdstat_rl.allow:calls="); found {
				text, _, _ := strings.Cut(rest, ",")
				n, _ = strconv.Atoi(text)
			}
		}
		calls = append(calls, n)
	}
	return calls
}
