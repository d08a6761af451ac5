package admin

import (
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlserver/rlserver/policy"
)

// TestMetricsPage: docs/metrics.md is what the table says.
func TestMetricsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	if err := MetricsPage(&want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(page)); diff != "" {
		t.Errorf("docs/metrics.md is stale; run make docs (-want +got):\n%s", diff)
	}
	for _, m := range metrics() {
		if !strings.Contains(string(page), "| `"+m.name+"` | "+string(m.kind)) {
			t.Errorf("%s is not on the page", m.name)
		}
	}
}

// TestMetricsTable: names and labels are as Prometheus wants them.
func TestMetricsTable(t *testing.T) {
	name := regexp.MustCompile(`^rlserver_[a-z]+(_[a-z]+)*$`)
	seen := make(map[string]bool)
	for _, m := range metrics() {
		if !name.MatchString(m.name) || seen[m.name] {
			t.Errorf("%s: bad name, or twice", m.name)
		}
		seen[m.name] = true
		if counts := strings.HasSuffix(m.name, "_total"); counts != (m.kind == counter) {
			t.Errorf("%s is a %s", m.name, m.kind)
		}
		if !strings.HasSuffix(m.help, ".") {
			t.Errorf("%s: the help %q is no sentence", m.name, m.help)
		}
		for _, l := range m.labels {
			if l.values == "" {
				t.Errorf("%s: nothing bounds the values of %s", m.name, l.name)
			}
		}
	}
}

// scrape returns the lines of /metrics that are rlserver's, comments left out.
func scrape(t *testing.T, url string) []string {
	t.Helper()
	body, answer := get(t, url+"/metrics")
	if answer.StatusCode != 200 {
		t.Fatalf("status %d: %s", answer.StatusCode, body)
	}
	var lines []string
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "rlserver_") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// TestScrape: every metric of the table is exported, with the node's numbers.
func TestScrape(t *testing.T) {
	node := newFakeNode()
	var latency Latency
	latency.Observe(1, 20_000, 3)
	latency.Observe(2, 2_000_000_000, 1)
	node.set(func(n *fakeNode) {
		n.snapshot.Latency = latency.Histogram()
		n.snapshot.EvictedFull, n.snapshot.EvictedNotFull = 8, 9
		n.snapshot.Cluster = Cluster{Leader: "b", Applied: 12345, Members: []Member{
			{Name: "a", This: true, Alive: true}, {Name: "b", Leads: true, Votes: true, Alive: true}, {Name: "c", Votes: true},
		}}
	})
	url := serve(t, config(node))
	lines := scrape(t, url)
	for _, m := range metrics() {
		if !slices.ContainsFunc(lines, func(line string) bool {
			rest, found := strings.CutPrefix(line, m.name)
			return found && strings.Trim(rest[:1], "{ _") == ""
		}) {
			t.Errorf("%s is not exported", m.name)
		}
	}
	for _, want := range []string{
		`rlserver_decisions_total{algorithm="token-bucket",outcome="allowed"} 50`,
		`rlserver_decisions_total{algorithm="token-bucket",outcome="denied"} 20`,
		`rlserver_decisions_total{algorithm="fixed-window",outcome="denied"} 0`,
		`rlserver_decision_duration_seconds_bucket{le="1e-05"} 0`,
		`rlserver_decision_duration_seconds_bucket{le="2.5e-05"} 3`,
		`rlserver_decision_duration_seconds_bucket{le="1"} 3`,
		`rlserver_decision_duration_seconds_bucket{le="+Inf"} 4`,
		`rlserver_decision_duration_seconds_count 4`,
		`rlserver_decision_duration_seconds_sum 2.00006`,
		`rlserver_commands_total{command="rl.allow"} 70`,
		`rlserver_commands_rejected_total{command="client|list"} 2`,
		`rlserver_commands_failed_total{command="client|list"} 1`,
		`rlserver_errors_total{code="NOAUTH"} 1`,
		`rlserver_connections_refused_total{reason="per_addr"} 0`,
		`rlserver_connections_closed_total{reason="peer"} 3`,
		`rlserver_evictions_total{kind="full"} 8`,
		`rlserver_evictions_total{kind="used"} 9`,
		`rlserver_policy_decisions_total{outcome="allowed"} 30`,
		`rlserver_policy_decisions_total{outcome="denied"} 10`,
		`rlserver_policy_shadow_decisions_total{outcome="allowed"} 7`,
		`rlserver_policy_shadow_decisions_total{outcome="denied"} 1`,
		`rlserver_policies 0`,
		`rlserver_cluster_members 3`,
		`rlserver_cluster_members_alive 2`,
		`rlserver_cluster_voters 2`,
		`rlserver_cluster_voters_alive 1`,
		`rlserver_cluster_has_leader 1`,
		`rlserver_cluster_is_leader 0`,
		`rlserver_raft_applied_index 12345`,
		`rlserver_keys 12`,
		`rlserver_ready 1`,
		`rlserver_slots_owned 16384`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %s", want)
		}
	}
	node.set(func(n *fakeNode) { n.ready, n.snapshot.Cluster = os.ErrClosed, Cluster{} })
	lines = scrape(t, url)
	for _, want := range []string{"rlserver_ready 0", "rlserver_cluster_has_leader 0", "rlserver_cluster_members 0"} {
		if !slices.Contains(lines, want) {
			t.Errorf("then no line %s", want)
		}
	}
}

// TestRuntimeMetrics: what the dashboard shows of the process.
func TestRuntimeMetrics(t *testing.T) {
	body, _ := get(t, serve(t, config(newFakeNode()))+"/metrics")
	for _, name := range []string{
		"go_goroutines", "go_memstats_heap_inuse_bytes", "go_gc_duration_seconds",
		"process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds", "process_start_time_seconds",
	} {
		if !strings.Contains(body, "\n"+name) {
			t.Errorf("%s is not exported", name)
		}
	}
}

// TestKeysAreNoLabels: whatever keys, policies and members there are, the series
// stay the same.
func TestKeysAreNoLabels(t *testing.T) {
	node, policies := newFakeNode(), newFakePolicies()
	cfg := config(node)
	cfg.Policies = policies
	url := serve(t, cfg)
	series := func() (names []string) {
		for _, line := range scrape(t, url) {
			names = append(names, line[:strings.LastIndexByte(line, ' ')])
		}
		return names
	}
	before := series()
	node.set(func(n *fakeNode) {
		n.snapshot.Keys, n.snapshot.Specs = 1_000_000, 1_000
		n.denied, n.asked = strangeKeys(), strangeKeys()
		for i := range 1000 {
			n.asked = append(n.asked, TopKey{fmt.Sprint("key-", i), 1})
			n.policies = append(n.policies, PolicyCount{Name: fmt.Sprint("policy-", i), Decisions: 1})
		}
		n.snapshot.Cluster.Members = append(n.snapshot.Cluster.Members, Member{Name: "another"})
	})
	for _, p := range []string{"a", "b"} {
		policies.Set(&policy.Policy{Name: p, Limit: 1, Window: 1e9}, nil, func(uint64, error) {})
	}
	if diff := cmp.Diff(before, series()); diff != "" {
		t.Errorf("names made series (-before +after):\n%s", diff)
	}
}

// TestStrangeNames: a name that is no label value costs no scrape, and one
// that comes twice only itself.
func TestStrangeNames(t *testing.T) {
	node := newFakeNode()
	var log syncBuffer
	cfg := config(node)
	cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	node.set(func(n *fakeNode) {
		n.snapshot.Errors = []Count{{"E\"R\nR", 1}, {"\xff\xfe", 2}, {"\xfe\xff", 3}, {"TWICE", 4}, {"TWICE", 5}}
	})
	lines := scrape(t, serve(t, cfg))
	for _, want := range []string{
		`rlserver_errors_total{code="E\"R\\nR"} 1`,
		`rlserver_errors_total{code="\\xff\\xfe"} 2`,
		`rlserver_errors_total{code="\\xfe\\xff"} 3`,
		`rlserver_errors_total{code="TWICE"} 4`,
		`rlserver_keys 12`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %s", want)
		}
	}
	if !strings.Contains(log.String(), "TWICE") {
		t.Errorf("the log says nothing of it: %q", log.String())
	}
}

func TestRefusalsAreCounted(t *testing.T) {
	cfg := config(newFakeNode())
	closed := false
	cfg.Access = func(string, string) Visitor {
		if closed {
			return Visitor{}
		}
		return Visitor{Role: RoleReader}
	}
	s := newServer(t, cfg)
	knock := func(path, host, origin string) string {
		r := newRequest(path, host)
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		return ask(s, r, "127.0.0.1:5000", "127.0.0.1:8379").Body.String()
	}
	knock("/", "evil.example", "")
	knock("/", "evil.example", "http://evil.example")
	knock("/", "localhost", "http://evil.example")
	closed = true
	knock("/metrics", "localhost", "")
	closed = false
	body := knock("/metrics", "localhost", "")
	for _, want := range []string{`{reason="host"} 2`, `{reason="origin"} 1`, `{reason="auth"} 1`} {
		if !strings.Contains(body, "rlserver_http_refused_total"+want+"\n") {
			t.Errorf("no %s", want)
		}
	}
}
