package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlserver/rlserver/admin"
	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/policy"
)

// memoryPolicies is a set of policies in memory, for a real admin server.
type memoryPolicies struct {
	admin.Policies // what is not asked here

	mu       sync.Mutex
	view     *policy.View
	writes   int
	err      error // of every write
	silent   bool  // writes are never answered
	replaced func()
}

func (m *memoryPolicies) Bounds() limit.Bounds { return limit.DefaultBounds() }

func (m *memoryPolicies) View() *policy.View {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.view
}

func (m *memoryPolicies) Replace(set []*policy.Rule, keep bool, done func(error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.replaced != nil {
		m.replaced()
	}
	if m.silent {
		return
	}
	if m.err == nil {
		m.writes++
		for _, change := range m.view.Diff(set, keep) {
			if change.New == nil {
				m.view = m.view.Delete(change.Name)
			} else {
				m.view = m.view.Set(change.New.WithVersion(uint64(m.writes)))
			}
		}
	}
	done(m.err)
}

func (m *memoryPolicies) names() string {
	var all []string
	for rule := range m.View().From("") {
		all = append(all, rule.Name)
	}
	return strings.Join(all, " ")
}

// quietNode is a node of which nothing is to be seen.
type quietNode struct{}

func (quietNode) Snapshot() admin.Snapshot          { return admin.Snapshot{} }
func (quietNode) TopDenied(int) []admin.TopKey      { return nil }
func (quietNode) TopAsked(int) []admin.TopKey       { return nil }
func (quietNode) PolicyCounts() []admin.PolicyCount { return nil }
func (quietNode) Ready() error                      { return nil }
func (quietNode) Live() error                       { return nil }

// policyHost is an admin server with policies, and the URL it is reached by.
type policyHost struct {
	policies *memoryPolicies
	url      string
}

// hostPolicies serves policies until the test ends, over TLS if there is a
// configuration for it, to whoever access lets in.
func hostPolicies(t *testing.T, security *tls.Config, access func(user, password string) admin.Visitor) *policyHost {
	t.Helper()
	h := &policyHost{policies: &memoryPolicies{view: &policy.View{}}}
	server, err := admin.New(admin.Config{
		Node: quietNode{}, Now: func() int64 { return 0 }, Log: slog.New(slog.DiscardHandler),
		Policies: h.policies, Access: access,
	})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.url = "http://" + ln.Addr().String()
	if security != nil {
		h.url = "https://" + ln.Addr().String()
		ln = tls.NewListener(ln, security)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve returned %v", err)
		}
	})
	return h
}

// run runs `rlserver policies` with words, then --url and this server's URL.
func (h *policyHost) run(t *testing.T, stdin string, words ...string) outcome {
	t.Helper()
	return runPolicyWords(t, nil, stdin, append(words, "--url", h.url)...)
}

// outcome is how `rlserver policies` ended.
type outcome struct {
	code           int
	stdout, stderr string
}

func runPolicyWords(t *testing.T, environment map[string]string, stdin string, words ...string) outcome {
	t.Helper()
	var stdout, stderr strings.Builder
	sh := shell{func(name string) string { return environment[name] }, strings.NewReader(stdin), &stdout}
	code := policiesCommand(t.Context(), words, sh, &stderr)
	return outcome{code, stdout.String(), stderr.String()}
}

// expect fails the test unless the command ended so; the outputs need only
// contain what is wanted, but an empty one must be empty.
func (o outcome) expect(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	has := func(text, want string) bool { return strings.Contains(text, want) && (want != "" || text == "") }
	if o.code != code || !has(o.stdout, stdout) || !has(o.stderr, stderr) {
		t.Errorf("exit %d\nstdout: %s\nstderr: %s\nwant %d\nstdout: %s\nstderr: %s", o.code, o.stdout, o.stderr, code, stdout, stderr)
	}
	if code == 1 && strings.Contains(o.stderr, "apply") != strings.Contains(strings.ToLower(o.stderr), "nothing was changed") {
		t.Errorf("this does not say whether something was changed: %s", o.stderr)
	}
}

// document is a set of policies, each written `name limit`.
func document(policies ...string) string {
	var text strings.Builder
	text.WriteString("policies:\n")
	for _, p := range policies {
		name, units, _ := strings.Cut(p, " ")
		fmt.Fprintf(&text, "  - {name: %s, limit: %s, window: 1s}\n", name, units)
	}
	return text.String()
}

// written writes a file for one test.
func written(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
