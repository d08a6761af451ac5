package admin

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/policy"
)

// fakePolicies is a set with one writer.
type fakePolicies struct {
	mu    sync.Mutex
	view  *policy.View
	index uint64
	err   error // of every write
}

func newFakePolicies() *fakePolicies { return &fakePolicies{view: &policy.View{}} }

func (f *fakePolicies) View() *policy.View {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.view
}

func (f *fakePolicies) Bounds() limit.Bounds { return limit.DefaultBounds() }

func (f *fakePolicies) check(name string, ifVersion *uint64) error {
	have := uint64(0)
	if old := f.view.Get(name); old != nil {
		have = old.Version
	}
	if f.err == nil && ifVersion != nil && *ifVersion != have {
		return &policy.VersionError{Want: *ifVersion, Have: have}
	}
	return f.err
}

func (f *fakePolicies) Set(p *policy.Policy, ifVersion *uint64, done func(uint64, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check(p.Name, ifVersion); err != nil {
		done(0, err)
		return
	}
	rule, err := policy.Compile(*p, f.Bounds())
	if err != nil {
		done(0, err)
		return
	}
	f.index++
	f.view = f.view.Set(rule.WithVersion(f.index))
	done(f.index, nil)
}

func (f *fakePolicies) Delete(name string, ifVersion *uint64, done func(bool, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check(name, ifVersion); err != nil {
		done(false, err)
		return
	}
	existed := f.view.Get(name) != nil
	f.view = f.view.Delete(name)
	done(existed, nil)
}

func (f *fakePolicies) Replace(set []*policy.Rule, keep bool, done func(error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.index++
		for _, change := range f.view.Diff(set, keep) {
			if change.New == nil {
				f.view = f.view.Delete(change.Name)
			} else {
				f.view = f.view.Set(change.New.WithVersion(f.index))
			}
		}
	}
	done(f.err)
}

// policyServer serves a fake set to everybody on this machine.
func policyServer(t *testing.T) (*Server, *fakePolicies) {
	t.Helper()
	fake := newFakePolicies()
	cfg := config(newFakeNode())
	cfg.Policies = fake
	return newServer(t, cfg), fake
}

// call sends "METHOD /path [Header: value]..." and a body.
func call(s *Server, request, body string) *httptest.ResponseRecorder {
	parts := strings.Split(request, " | ")
	method, path, _ := strings.Cut(parts[0], " ")
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	for _, header := range parts[1:] {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	return ask(s, r, "127.0.0.1:5000", "127.0.0.1:8379")
}

func TestPolicyAPI(t *testing.T) {
	s, _ := policyServer(t)
	for _, step := range []struct {
		request, body string
		status        int
		etag, want    string
	}{
		{"GET /v1/policies", "", 200, "", "{\"policies\": [\n]}\n"},
		{"GET /v1/policies/free", "", 404, "", `{"title":"Not Found","status":404,"detail":"no policy is named \"free\"; GET /v1/policies lists them"}` + "\n"},
		{"PUT /v1/policies/free", `{"limit": 10, "window": "1m", "tier": "free"}`, 201, `"1"`, `{"name": "free", "limit": 10, "window": "1m", "tier": "free", "version": 1}` + "\n"},
		{"GET /v1/policies/free", "", 200, `"1"`, `{"name": "free", "limit": 10, "window": "1m", "tier": "free", "version": 1}` + "\n"},
		{"PUT /v1/policies/free", "limit: 20\nwindow: 1m\n", 200, `"2"`, `{"name": "free", "limit": 20, "window": "1m", "version": 2}` + "\n"},
		{`PUT /v1/policies/free | If-Match: "1"`, `{"limit": 1, "window": "1m"}`, 412, "", "IFVERSION is 1, but the policy has version 2; nothing was changed"},
		{`PUT /v1/policies/free | If-None-Match: *`, `{"limit": 1, "window": "1m"}`, 412, "", "IFVERSION is 0, but the policy exists with version 2"},
		{`PUT /v1/policies/free | If-Match: "2"`, `{"limit": 30, "window": "1m"}`, 200, `"3"`, `"limit": 30`},
		{`PUT /v1/policies/free | If-Match: 3`, `{"limit": 1, "window": "1m"}`, 400, "", "If-Match must be the ETag of a policy"},
		{"PUT /v1/policies/free", `{"limit": 0, "window": "1m"}`, 400, "", `limit must be an integer between 1 and 1000000000000, got \"0\"`},
		{"PUT /v1/policies/free", `{"name": "other", "limit": 1, "window": "1m"}`, 400, "", `name must be \"free\", got \"other\"`},
		{"PUT /v1/policies/free", `{"limit": 1`, 400, "", "yaml"},
		{"PUT /v1/policies/free", strings.Repeat("x", maxPolicyBody+1), 413, "", "the body must be at most 65536 bytes"},
		{"PUT /v1/policies/login", `{"limit": 5, "window": "1m", "endpoint": "POST /login"}`, 201, `"4"`, `"endpoint": "POST /login"`},
		{
			"PUT /admin/policies/acme", `{"limit": 100, "window": "1s", "burst": 50, "on_error": "fail_open"}`, 201, `"5"`,
			`{"name": "client:acme", "limit": 100, "window": "1s", "burst": 50, "client": "acme", "on_error": "local", "version": 5, ` +
				`"warnings": ["in scope default policy client:acme goes before login`,
		},
		{"GET /admin/policies/acme", "", 200, `"5"`, `"client": "acme"`},
		{"GET /admin/policies/nobody", "", 404, "", `client \"nobody\" has no override; its policy would be named \"client:nobody\"`},
		{"PUT /admin/policies/a%2Fb%20c", `{"limit": 1, "window": "1s"}`, 201, `"6"`, `"name": "client:a/b c"`},
		{"PUT /admin/policies/acme", `{"limit": 1, "window": "1s", "client": "other"}`, 400, "", `client must be \"acme\" or left out, got \"other\"`},
		{"GET /v1/policies?count=2", "", 200, "", `], "next": "free"}`},
		{"GET /v1/policies?count=2&from=free", "", 200, "", "{\"policies\": [\n{\"name\": \"free\""},
		{"GET /v1/policies?count=0", "", 400, "", `count must be 1 to 1000, got \"0\"`},
		{`DELETE /v1/policies/free | If-Match: "2"`, "", 412, "", "IFVERSION is 2"},
		{"DELETE /v1/policies/free", "", 204, "", ""},
		{"DELETE /v1/policies/free", "", 404, "", "no policy is named"},
		{"DELETE /admin/policies/acme", "", 204, "", ""},
		{"POST /v1/policies", "{}", 405, "", ""},
		{"PUT /healthz", "{}", 405, "", ""},
	} {
		w := call(s, step.request, step.body)
		body := w.Body.String()
		if w.Code != step.status || w.Header().Get("ETag") != step.etag || !strings.Contains(body, step.want) {
			t.Errorf("%s %.80s: %d %s %s\nwant %d %s %s", step.request, step.body, w.Code, w.Header().Get("ETag"), body, step.status, step.etag, step.want)
		}
		if kind := w.Header().Get("Content-Type"); w.Code >= 400 && w.Code != 405 && kind != "application/problem+json" {
			t.Errorf("%s: the error is %s", step.request, kind)
		}
	}
}

func TestPolicySetAPI(t *testing.T) {
	s, fake := policyServer(t)
	const first = "policies:\n- {name: a, limit: 1, window: 1s}\n- {name: b, limit: 1, window: 1s}\n"
	const second = `{"policies": [{"name": "a", "limit": 2, "window": "1s"}, {"name": "c", "limit": 1, "window": "1s"}]}`
	for _, step := range []struct {
		request, body string
		status        int
		want, have    string
	}{
		{"PUT /v1/policies?dry_run=true", first, 200, "{\"changes\": [\n\"+ a  LIMIT 1 WINDOW 1s\",\n\"+ b  LIMIT 1 WINDOW 1s\"\n]}\n", ""},
		{"PUT /v1/policies", first, 200, "+ b", "a1 b1"},
		{"PUT /v1/policies", first, 200, "{\"changes\": [\n]}\n", "a1 b1"},
		{"PUT /v1/policies?keep=1", second, 200, "~ a  LIMIT 1 -> 2", "a2 b1 c2"},
		{"PUT /v1/policies", second, 200, "- b  LIMIT 1 WINDOW 1s", "a2 c2"},
		{"PUT /v1/policies", second[:len(second)-2] + `, {"name": "d"}]}`, 400, "policies[2]: LIMIT must be", "a2 c2"},
		{"PUT /v1/policies?keep=maybe", second, 400, `keep must be true or false, got \"maybe\"`, "a2 c2"},
	} {
		w := call(s, step.request, step.body)
		if w.Code != step.status || !strings.Contains(w.Body.String(), step.want) {
			t.Errorf("%s: %d %s\nwant %d %s", step.request, w.Code, w.Body, step.status, step.want)
		}
		var have []string
		for r := range fake.View().From("") {
			have = append(have, fmt.Sprintf("%s%d", r.Name, r.Version))
		}
		if got := strings.Join(have, " "); got != step.have {
			t.Errorf("after %s there is %s, want %s", step.request, got, step.have)
		}
	}
}

// What cannot be written is told apart by its status.
func TestPolicyWriteFails(t *testing.T) {
	s, fake := policyServer(t)
	for _, c := range []struct {
		err    error
		status int
		retry  string
	}{
		{fmt.Errorf("no majority: %w", policy.ErrNotWritten), 503, "1"},
		{fmt.Errorf("%w: no answer", policy.ErrOutcomeUnknown), 504, ""},
	} {
		fake.err = c.err
		for _, request := range []string{"PUT /v1/policies/a", "DELETE /v1/policies/a", "PUT /v1/policies"} {
			body := `{"limit": 1, "window": "1s"}`
			if request == "PUT /v1/policies" {
				body = `{"policies": [{"name": "a", "limit": 1, "window": "1s"}]}`
			}
			if w := call(s, request, body); w.Code != c.status || w.Header().Get("Retry-After") != c.retry || !strings.Contains(w.Body.String(), c.err.Error()) {
				t.Errorf("%s: %d %s", request, w.Code, w.Body)
			}
		}
	}
}

// Readers look, admins change, others do neither; and no page of another
// origin changes anything for them.
func TestPolicyAccess(t *testing.T) {
	fake := newFakePolicies()
	cfg := config(newFakeNode())
	cfg.Policies = fake
	cfg.Access = func(user, password string) (v Visitor) {
		v.Role = map[string]Role{"reader:r": RoleReader, "admin:a": RoleAdmin}[user+":"+password]
		return v
	}
	s := newServer(t, cfg)
	for _, c := range []struct {
		user, request string
		status        int
	}{
		{"", "GET /v1/policies", 401},
		{"", "PUT /v1/policies/a", 401},
		{"", "DELETE /v1/policies/a", 401},
		{"reader:r", "GET /v1/policies", 200},
		{"reader:r", "PUT /v1/policies/a", 403},
		{"reader:r", "PUT /v1/policies", 403},
		{"reader:r", "DELETE /admin/policies/a", 403},
		{"reader:r", "PUT /admin/policies/a", 403},
		{"admin:x", "PUT /v1/policies/a", 401},
		{"admin:a", "PUT /v1/policies/a", 201},
		{"admin:a", "PUT /v1/policies/a | Origin: http://evil.example", 403},
		{"admin:a", "DELETE /v1/policies/a | Sec-Fetch-Site: cross-site", 403},
	} {
		request := c.request
		user, password, _ := strings.Cut(c.user, ":")
		if c.user != "" {
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.SetBasicAuth(user, password)
			request += " | Authorization: " + r.Header.Get("Authorization")
		}
		body := ""
		if !strings.HasPrefix(request, "GET") {
			body = `{"limit": 1, "window": "1s"}`
		}
		if w := call(s, request, body); w.Code != c.status {
			t.Errorf("%s %s: %d %s, want %d", c.user, c.request, w.Code, w.Body, c.status)
		}
	}
}
