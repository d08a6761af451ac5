package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rlserver/rlserver/admin"
	"github.com/rlserver/rlserver/commands"
)

// strangeKeys are keys, and how the status page must show them.
func strangeKeys() map[string]string {
	return map[string]string{
		"user:42":                         "user:42",
		"line\nbreak":                     `line\nbreak`,
		"say \"it's\"":                    "say &#34;it&#39;s&#34;",
		"nul\x00":                         `nul\x00`,
		"<b>bold</b>":                     "&lt;b&gt;bold&lt;/b&gt;",
		"{tag}:a|b":                       "{tag}:a|b",
		strings.Repeat("\xff", 512):       strings.Repeat(`\xff`, 512),
		"\r\nrlserver_forged_total 1\r\n": `\r\nrlserver_forged_total 1\r\n`,
	}
}

// decide asks for one unit of key, limit 1 in a minute.
func (c *client) decide(t *testing.T, key string) string {
	t.Helper()
	if _, err := fmt.Fprintf(c, "*4\r\n$8\r\nRL.ALLOW\r\n$%d\r\n%s\r\n$1\r\n1\r\n$2\r\n1m\r\n", len(key), key); err != nil {
		t.Fatal(err)
	}
	reply, err := c.reply()
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// TestSideDoor: what was decided shows on the page and in the metrics, and no
// key becomes a label or HTML.
func TestSideDoor(t *testing.T) {
	s := startServer(t)
	url := "http://" + s.atHTTP
	series := func() (names []string) {
		_, body := httpGet(t, url+"/metrics", "", "")
		for line := range strings.Lines(body) {
			if name, _, found := strings.Cut(line, " "); found && strings.HasPrefix(name, "rlserver_") {
				names = append(names, name)
			}
		}
		return names
	}
	before := series()
	c := dial(t, s.addr, nil)
	for key := range strangeKeys() {
		c.decide(t, key) // allowed
		c.decide(t, key) // denied
	}
	if after := series(); !slices.Equal(before, after) {
		t.Errorf("keys made series: before\n%q, after\n%q", before, after)
	}
	n := len(strangeKeys())
	_, metrics := httpGet(t, url+"/metrics", "", "")
	for _, want := range []string{
		fmt.Sprintf(`rlserver_decisions_total{algorithm="token-bucket",outcome="allowed"} %d`, n),
		fmt.Sprintf(`rlserver_decisions_total{algorithm="token-bucket",outcome="denied"} %d`, n),
		fmt.Sprintf(`rlserver_decision_duration_seconds_count %d`, 2*n),
		fmt.Sprintf(`rlserver_commands_total{command="rl.allow"} %d`, 2*n),
		fmt.Sprintf(`rlserver_keys %d`, n),
		`rlserver_connections 1`,
		`rlserver_connections_accepted_total 1`,
		`rlserver_connections_closed_total{reason="peer"} 0`,
		`rlserver_ready 1`,
		`rlserver_slots_owned 16384`,
		`rlserver_memory_limit_bytes 1.073741824e+09`,
		`rlserver_build_info{go_version="`,
	} {
		if !strings.Contains(metrics, "\n"+want) {
			t.Errorf("the metrics have no line %s", want)
		}
	}
	_, page := httpGet(t, url+"/", "", "")
	for key, want := range strangeKeys() {
		if strings.Count(page, ">"+want+"</bdi>") != 2 {
			t.Errorf("the page does not show %q as %s, once in each list", key, want)
		}
	}
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusOK, "/debug/pprof/heap": http.StatusOK} {
		if status, body := httpGet(t, url+path, "", ""); status != want {
			t.Errorf("%s: status %d %q", path, status, body)
		}
	}
}

// TestMetricsAreExported: the server exports every metric of docs/metrics.md.
func TestMetricsAreExported(t *testing.T) {
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	s := startServer(t)
	dial(t, s.addr, nil).expect(t, "RL.ALLOW", "-ERR") // the first error
	_, body := httpGet(t, "http://"+s.atHTTP+"/metrics", "", "")
	names := regexp.MustCompile("(?m)^\\| `(rlserver_[a-z_]+)`").FindAllStringSubmatch(string(page), -1)
	for _, name := range names {
		if !strings.Contains(body, "# TYPE "+name[1]+" ") {
			t.Errorf("%s is not exported", name[1])
		}
	}
	if len(names) < 20 {
		t.Errorf("only %d metrics on the page", len(names))
	}
}

// TestTakenDefault: a node whose default address is taken decides without a
// status page. One that was set must be free: TestTakenDoors.
func TestTakenDefault(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:8379")
	switch {
	case err == nil:
		defer ln.Close()
	case !errors.Is(err, syscall.EADDRINUSE):
		t.Fatal(err)
	}
	s := startCommand(t, serverCommand(t, "--addr", "127.0.0.1:0", "--log-format", "json"))
	if s.atHTTP != "off" {
		t.Errorf("HTTP is served at %s", s.atHTTP)
	}
	dial(t, s.addr, nil).expect(t, "PING", "+PONG")
	if !strings.Contains(s.log.String(), "no status page and no metrics") {
		t.Errorf("nothing warns of it:\n%s", s.log)
	}
}

func TestHTTPAccess(t *testing.T) {
	acl, err := commands.ParseACL(strings.NewReader(
		"user default off\nuser some on >pw ~mine:* +@read\nuser app on >pw ~* +@decide\nuser ops on >pw ~* +@all\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name           string
		users          *commands.Users
		user, password string
		role           admin.Role
		sees           bool // a key that is not mine
	}{
		{"open", commands.OpenUsers(), "", "", admin.RoleAdmin, true},
		{"open, any name", commands.OpenUsers(), "x", "y", admin.RoleNobody, false},
		{"passwords, nobody", commands.PasswordUsers("a", "b"), "", "", admin.RoleNobody, false},
		{"passwords, application", commands.PasswordUsers("a", "b"), "default", "a", admin.RoleReader, true},
		{"passwords, wrong", commands.PasswordUsers("a", "b"), "default", "b", admin.RoleNobody, false},
		{"passwords, admin", commands.PasswordUsers("a", "b"), "admin", "b", admin.RoleAdmin, true},
		{"password of admin alone", commands.PasswordUsers("", "b"), "", "", admin.RoleReader, true},
		{"no password of admin", commands.PasswordUsers("a", ""), "admin", "", admin.RoleNobody, false},
		{"ACL, nobody", acl, "", "", admin.RoleNobody, false},
		{"ACL, decides only", acl, "app", "pw", admin.RoleNobody, true},
		{"ACL, some keys", acl, "some", "pw", admin.RoleReader, false},
		{"ACL, all", acl, "ops", "pw", admin.RoleAdmin, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := httpAccess(func() *commands.Users { return test.users })(test.user, test.password)
			if v.Role != test.role {
				t.Errorf("role %d, want %d", v.Role, test.role)
			}
			if sees := v.Sees != nil && v.Sees("other"); sees != test.sees {
				t.Errorf("sees a key: %v", sees)
			}
			if test.name == "ACL, some keys" && !v.Sees("mine:1") {
				t.Error("does not see its own key")
			}
		})
	}
}

// TestHealthOfANode: it is ready while it serves, and live while the sweeper
// moves.
func TestHealthOfANode(t *testing.T) {
	now := int64(1e18)
	w := newWatch(&node{}, alwaysReady, func() int64 { return now })
	if err := w.Ready(); err == nil {
		t.Error("ready before it serves")
	}
	w.serving.Store(true)
	if err := errors.Join(w.Ready(), w.Live()); err != nil {
		t.Error(err)
	}
	now += int64(stuckAfter)
	if err := w.Live(); err != nil {
		t.Error(err)
	}
	now++
	if err := w.Live(); err == nil || !strings.Contains(err.Error(), "15s") {
		t.Errorf("live though nothing moves: %v", err)
	}
	w.sweptAt.Store(now)
	if err := w.Live(); err != nil {
		t.Error(err)
	}
}

// TestSweeperTells: whoever sweeps says when, which is what /healthz looks at.
func TestSweeperTells(t *testing.T) {
	var cfg config
	cfg.set = cfg.flags()
	store, err := newStore(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	swept := make(chan int64)
	done := make(chan struct{})
	go func() {
		defer close(done)
		sweep(t.Context(), store, func() int64 { return 42 }, func(at, _ int64) {
			select {
			case swept <- at:
			case <-t.Context().Done():
			}
		})
	}()
	t.Cleanup(func() { <-done })
	if at := <-swept; at != 42 {
		t.Errorf("swept at %d", at)
	}
}

func alwaysReady() error { return nil }
