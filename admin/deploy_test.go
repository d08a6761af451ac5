package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rlserver/rlserver/limit"
)

const (
	dashboardFile = "../deploy/grafana/rlserver.json"
	rulesFile     = "../deploy/prometheus/rules.yml"
)

// dashboard is what the tests need of deploy/grafana.
type dashboard struct {
	Panels []struct {
		ID      int
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr string }
	}
	Annotations struct{ List []struct{ Expr string } }
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// exprs are the queries of a dashboard by panel, with its variables set.
func (d *dashboard) exprs() map[string][]string {
	set := strings.NewReplacer("$__rate_interval", "2s", "$job", ".*", "$instance", ".*")
	exprs := make(map[string][]string)
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			exprs[p.Title] = append(exprs[p.Title], set.Replace(target.Expr))
		}
	}
	for _, a := range d.Annotations.List {
		exprs["annotations"] = append(exprs["annotations"], set.Replace(a.Expr))
	}
	return exprs
}

// TestDashboard: panels have ids of their own and places of their own.
func TestDashboard(t *testing.T) {
	ids, cells := make(map[int]bool), make(map[[2]int]string)
	for _, p := range readDashboard(t).Panels {
		if ids[p.ID] {
			t.Errorf("%s: id %d is taken", p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("%s is beyond the right edge", p.Title)
		}
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				cell := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if cells[cell] != "" {
					t.Fatalf("%s lies upon %s", p.Title, cells[cell])
				}
				cells[cell] = p.Title
			}
		}
	}
	if len(ids) < 10 {
		t.Errorf("only %d panels", len(ids))
	}
}

// TestDeployedMetricsExist: every metric that the dashboard and the alerts name
// is exported, and so is every one that the dashboard lacks on it.
func TestDeployedMetricsExist(t *testing.T) {
	node := newFakeNode()
	body, _ := get(t, serve(t, config(node))+"/metrics")
	exported := make(map[string]bool)
	for _, line := range strings.Split(body, "\n") {
		if name, _, found := strings.Cut(line, " "); found && !strings.HasPrefix(line, "#") {
			name, _, _ = strings.Cut(name, "{")
			exported[name] = true
		}
	}
	named := make(map[string]bool)
	name := regexp.MustCompile(`\b(?:rlserver|go|process)_[a-z0-9_]+`)
	for _, file := range []string{dashboardFile, rulesFile, "../deploy/prometheus/prometheus.yml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range name.FindAllString(string(text), -1) {
			if named[m] = true; !exported[m] {
				t.Errorf("%s names %s, which is not exported", file, m)
			}
		}
	}
	for _, m := range metrics() {
		if !named[m.name] && !named[m.name+"_bucket"] {
			t.Errorf("%s is on no panel and in no alert", m.name)
		}
	}
}

// TestMetricsHaveAlerts: every metric is in an alert, or it is known why not; and
// every alert is seen to fire.
func TestMetricsHaveAlerts(t *testing.T) {
	rules, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	var exprs strings.Builder // a description that names a metric is no alert
	for _, m := range regexp.MustCompile(`(?s)\n +expr: (.*?)\n +(?:for|labels):`).FindAllSubmatch(rules, -1) {
		fmt.Fprintf(&exprs, "%s\n", m[1])
	}
	watched := make(map[string]bool)
	for _, name := range regexp.MustCompile(`\brlserver_[a-z0-9_]+`).FindAllString(exprs.String(), -1) {
		watched[strings.TrimSuffix(name, "_bucket")] = true
	}
	calm := map[string]string{
		"rlserver_build_info":                    "it never changes",
		"rlserver_commands_total":                "work",
		"rlserver_commands_rejected_total":       "mistakes of callers, who are told",
		"rlserver_commands_failed_total":         "mistakes of callers, who are told",
		"rlserver_errors_total":                  "mistakes of callers, who are told",
		"rlserver_connections_accepted_total":    "work",
		"rlserver_connections_closed_total":      "clients come and go",
		"rlserver_received_bytes_total":          "work",
		"rlserver_sent_bytes_total":              "work",
		"rlserver_keys":                          "what bounds them is memory",
		"rlserver_specs":                         "what bounds them is memory",
		"rlserver_slots_owned":                   "they move between nodes",
		"rlserver_swept_total":                   "work",
		"rlserver_policies":                      "operators set them",
		"rlserver_policy_decisions_total":        "what is denied is watched as decisions",
		"rlserver_policy_shadow_decisions_total": "nobody is denied by them",
		"rlserver_cluster_members":               "operators add and remove them",
		"rlserver_cluster_members_alive":         "voters are watched; another that is gone cannot be scraped either",
		"rlserver_cluster_is_leader":             "any voter may lead",
		"rlserver_raft_applied_index":            "it rests where nobody changes anything",
		"rlserver_disk_loading":                  "a node that loads is not ready, which is watched",
		"rlserver_disk_written_buckets_total":    "work",
		"rlserver_disk_written_bytes_total":      "work",
		"rlserver_disk_syncs_total":              "work",
		"rlserver_disk_saves_total":              "work",
		"rlserver_http_refused_total":            "wrong passwords are counted apart; the rest is turned away",
	}
	for _, m := range metrics() {
		switch why := calm[m.name]; {
		case why == "" && !watched[m.name]:
			t.Errorf("%s is in no alert", m.name)
		case why != "" && watched[m.name]:
			t.Errorf("%s is in an alert, but needs none: %s", m.name, why)
		}
		delete(calm, m.name)
	}
	for name := range calm {
		t.Errorf("%s does not exist", name)
	}

	seen, err := os.ReadFile("../deploy/prometheus/rules_test.yml")
	if err != nil {
		t.Fatal(err)
	}
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllSubmatch(rules, -1)
	for _, a := range alerts {
		if !bytes.Contains(seen, fmt.Appendf(nil, `{alertname="%s"}`, a[1])) {
			t.Errorf("%s is not seen to fire", a[1])
		}
	}
	if len(alerts) < 10 {
		t.Errorf("only %d alerts", len(alerts))
	}
}

// promtool runs Debian's promtool.
func promtool(t *testing.T, input string, args ...string) {
	t.Helper()
	program, err := exec.LookPath("promtool")
	if err != nil {
		missing(t, "promtool", "alert rules and metrics are not checked")
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stdin = strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestPromtool(t *testing.T) {
	t.Run("rules", func(t *testing.T) { promtool(t, "", "check", "rules", rulesFile) })
	t.Run("rules fire", func(t *testing.T) { promtool(t, "", "test", "rules", "../deploy/prometheus/rules_test.yml") })
	t.Run("config", func(t *testing.T) { promtool(t, "", "check", "config", "../deploy/prometheus/prometheus.yml") })
	t.Run("metrics", func(t *testing.T) {
		body, _ := get(t, serve(t, config(newFakeNode()))+"/metrics")
		var own strings.Builder // the runtime's have names that promtool does not like
		for line := range strings.Lines(body) {
			if comment := strings.HasPrefix(line, "# HELP rlserver_") || strings.HasPrefix(line, "# TYPE rlserver_"); comment || strings.HasPrefix(line, "rlserver_") {
				own.WriteString(line)
			}
		}
		promtool(t, own.String(), "check", "metrics")
	})
}

// TestPrometheus: Debian's Prometheus scrapes the server with the example's
// configuration, and every query of the dashboard has an answer.
func TestPrometheus(t *testing.T) {
	node := newFakeNode()
	cfg := config(node)
	target := serve(t, cfg)
	prometheus := startPrometheus(t, strings.TrimPrefix(target, "http://"))
	work := time.NewTicker(100 * time.Millisecond) // what the graphs are of
	defer work.Stop()
	var latency Latency
	ask := func(query string) []any {
		node.set(func(n *fakeNode) {
			d := &n.snapshot.Decisions[limit.LeakyBucket]
			d.Allowed, d.Denied = d.Allowed+10, d.Denied+5
			for i := range n.snapshot.Commands {
				c := &n.snapshot.Commands[i]
				c.Calls, c.Rejected, c.Failed = c.Calls+10, c.Rejected+2, c.Failed+1
			}
			for _, family := range [][]Count{n.snapshot.Errors, n.snapshot.Closed, n.snapshot.Refused} {
				for i := range family {
					family[i].N++
				}
			}
			n.snapshot.AcceptErrors++
			n.snapshot.Panics++
			latency.Observe(0, 50_000, 15)
			n.snapshot.Latency = latency.Histogram()
		})
		return queryPrometheus(t, prometheus, query)
	}
	patience := time.After(time.Minute)
	for panel, exprs := range readDashboardExprs(t) {
		for _, expr := range exprs {
			for panel != "annotations" && len(ask(expr)) == 0 {
				select {
				case <-work.C:
				case <-patience:
					t.Fatalf("%s: no answer to %s", panel, expr)
				}
			}
		}
	}
	if up := ask(`up{job="rlserver"} == 1`); len(up) != 1 {
		t.Errorf("up: %v", up)
	}
	ask(readDashboard(t).Annotations.List[0].Expr) // it need not have happened
	if rules := ask(`count(count by (alertname) (ALERTS))`); len(rules) > 1 {
		t.Errorf("alerts: %v", rules)
	}
}

func readDashboardExprs(t *testing.T) map[string][]string {
	t.Helper()
	d := readDashboard(t)
	return d.exprs()
}

// queryPrometheus asks the API; a query that is wrong fails the test.
func queryPrometheus(t *testing.T, prometheus, query string) []any {
	t.Helper()
	body, answer := get(t, prometheus+"/api/v1/query?query="+url.QueryEscape(query))
	var result struct {
		Error string
		Data  struct{ Result []any }
	}
	if err := json.Unmarshal([]byte(body), &result); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %s %v", query, answer.StatusCode, result.Error, err)
	}
	return result.Data.Result
}

// startPrometheus starts Debian's Prometheus on the example's configuration,
// but with this target and many scrapes a second, and waits until it answers.
func startPrometheus(t *testing.T, target string) (api string) {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		missing(t, "prometheus", "nothing scrapes the metrics")
	}
	example, err := os.ReadFile("../deploy/prometheus/prometheus.yml")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Abs(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := strings.NewReplacer("127.0.0.1:8379", target, "_interval: 15s", "_interval: 200ms", "- rules.yml", "- "+rules).Replace(string(example))
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	ln := listen(t) // a port that is free
	api = ln.Addr().String()
	_ = ln.Close()
	var log bytes.Buffer
	// timeout(1) ends it where this process cannot.
	cmd := exec.Command("timeout", "--kill-after=10", "300", program,
		"--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+api)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // timeout passes it on
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("prometheus said\n%s", &log)
		}
	})
	ticks := time.NewTicker(50 * time.Millisecond)
	defer ticks.Stop()
	patience := time.After(time.Minute)
	for !answers(t, api) {
		select {
		case <-ticks.C:
		case <-patience:
			t.Fatal("prometheus does not answer")
		}
	}
	return "http://" + api
}

// answers says whether Prometheus is ready.
func answers(t *testing.T, addr string) bool {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		return false
	}
	_ = conn.Close()
	_, answer := get(t, fmt.Sprintf("http://%s/-/ready", addr))
	return answer.StatusCode == http.StatusOK
}
