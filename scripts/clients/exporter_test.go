package clients

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestExporter scrapes a server through redis_exporter, and compares with INFO
// what does not change in between.
func TestExporter(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("prometheus-redis-exporter")
	if err != nil {
		missing(t, "redis_exporter", byApt+"prometheus-redis-exporter")
	}
	server := startServer(t)
	for _, words := range [][]string{
		{"RL.ALLOW", "a", "1", "1h"},
		{"RL.ALLOW", "a", "1", "1h"},
		{"CL.THROTTLE", "b", "1", "2", "3600"},
		{"RL.ALLOW", "b"},
	} {
		ask(t, server, words...)
	}

	metrics := scrape(t, path, server)
	for name, want := range map[string]string{
		"redis_up": "1",
		`redis_exporter_last_scrape_error{err=""}`:            "0",
		`redis_db_keys{db="db0"}`:                             "2",
		`redis_commands_total{cmd="rl.allow"}`:                "2",
		`redis_commands_total{cmd="cl.throttle"}`:             "1",
		`redis_commands_rejected_calls_total{cmd="rl.allow"}`: "1",
		"redis_total_error_replies":                           "1",
		"redis_connected_clients":                             "1",
		"redis_cluster_enabled":                               "0",
		"redis_loading_dump_file":                             "0",
		"redis_slowlog_length":                                "0",
	} {
		if got := metrics[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}

	info := ask(t, server, "INFO", "everything")
	field := func(name string) string {
		m := regexp.MustCompile(`\\n` + name + `:([^\\]*)\\r`).FindStringSubmatch(info)
		if m == nil {
			t.Fatalf("INFO has no %s: %s", name, info)
		}
		return m[1]
	}
	for metric, name := range map[string]string{
		"redis_process_id":                 "process_id",
		"redis_config_maxclients":          "maxclients",
		"redis_memory_max_bytes":           "maxmemory",
		"redis_keyspace_hits_total":        "keyspace_hits",
		"redis_evicted_keys_total":         "evicted_keys",
		"redis_connected_slaves":           "connected_slaves",
		"redis_blocked_clients":            "blocked_clients",
		"redis_rejected_connections_total": "rejected_connections",
	} {
		got, err := strconv.ParseFloat(metrics[metric], 64)
		want, err2 := strconv.ParseFloat(field(name), 64)
		if err != nil || err2 != nil || got != want {
			t.Errorf("%s is %q, %s in INFO is %q", metric, metrics[metric], name, field(name))
		}
	}
	labels := ""
	for name := range metrics {
		if strings.HasPrefix(name, "redis_instance_info{") {
			labels = name
		}
	}
	for _, name := range []string{"redis_version", "redis_mode", "role", "run_id", "tcp_port", "os", "maxmemory_policy"} {
		if want := fmt.Sprintf("%s=%q", name, field(name)); !strings.Contains(labels, want) {
			t.Errorf("no %s in %s", want, labels)
		}
	}
}

// scrape runs an exporter and returns the metrics, the labels in their names.
func scrape(t *testing.T, path, server string) map[string]string {
	t.Helper()
	// The exporter does not tell its port, so it needs a free one, which another
	// process may take first.
	for range 5 {
		addr := freeAddr(t)
		p := start(t, exec.Command(path, "-redis.addr", "redis://"+server, "-web.listen-address", addr))
		if page, ok := get(t, p, "http://"+addr+"/metrics"); ok {
			return parseMetrics(page)
		}
	}
	t.Fatal("the exporter does not serve")
	return nil
}

// get waits until a process serves a page; false if it ended before.
func get(t *testing.T, p *process, url string) (page string, ok bool) {
	t.Helper()
	client := http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	timeout := time.After(patience)
	for {
		response, err := client.Get(url)
		if err == nil {
			body, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			return string(body), true
		}
		select {
		case <-again.C:
		case <-p.ended:
			return "", false
		case <-timeout:
			t.Fatalf("no page after %s: %v", patience, err)
		}
	}
}

func freeAddr(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func parseMetrics(page string) map[string]string {
	metrics := map[string]string{}
	for line := range strings.Lines(page) {
		name, value, ok := cutLast(strings.TrimSpace(line), " ")
		if ok && !strings.HasPrefix(line, "#") {
			metrics[name] = value
		}
	}
	return metrics
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+len(sep):], true
}
