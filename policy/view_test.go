package policy

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/limit"
)

// naive finds what decides by looking at all policies, with a comparison that
// is written after the words of the documentation.
func naive(all map[string]*Rule, req *Request, scope string, mode Mode) *Rule {
	var best *Rule
	for _, r := range all {
		if r.ScopeName() == scope && r.Mode == mode && naiveMatches(r, req) && (best == nil || naiveBefore(r, best)) {
			best = r
		}
	}
	return best
}

func naiveMatches(r *Rule, req *Request) bool {
	attrs := map[string]string{"client": string(req.Client)}
	if len(req.Tier) > 0 {
		attrs["tier"] = string(req.Tier)
	}
	if len(req.Endpoint) > 0 {
		attrs["endpoint"] = string(req.Endpoint)
	}
	for _, a := range req.Attrs {
		attrs[string(a.Name)] = string(a.Value)
	}
	for _, a := range r.Attrs {
		value, has := attrs[a.Name]
		if !has || !naiveGlob(a.Pattern, value) {
			return false
		}
	}
	for _, name := range r.Per {
		if _, has := attrs[name]; !has {
			return false
		}
	}
	if r.Endpoint != "" {
		if attrs["endpoint"] == "" {
			return false
		}
		method, path, found := strings.Cut(attrs["endpoint"], " ")
		if !found {
			method, path = "", method
		}
		wantMethod, want, found := strings.Cut(r.Endpoint, " ")
		if !found {
			wantMethod, want = "", wantMethod
		}
		if wantMethod != "" && wantMethod != method || !naivePath(strings.Split(want, "/"), strings.Split(path, "/")) {
			return false
		}
	}
	return (r.Client == "" || r.Client == attrs["client"]) && (r.Tier == "" || r.Tier == attrs["tier"])
}

func naivePath(want, path []string) bool {
	switch {
	case len(want) == 0:
		return len(path) == 0
	case want[0] == "**":
		return true
	case len(path) == 0:
		return false
	}
	return (want[0] == path[0] || want[0] == "*" && path[0] != "") && naivePath(want[1:], path[1:])
}

func naiveGlob(pattern, value string) bool {
	switch {
	case pattern == "":
		return value == ""
	case pattern[0] == '*':
		return naiveGlob(pattern[1:], value) || value != "" && naiveGlob(pattern, value[1:])
	case value == "":
		return false
	}
	return (pattern[0] == '?' || pattern[0] == value[0]) && naiveGlob(pattern[1:], value[1:])
}

// naiveBefore says whether a is more specific than b, both of which match.
func naiveBefore(a, b *Rule) bool {
	kind := func(r *Rule) int {
		switch {
		case r.Endpoint == "":
			return 2
		case strings.Contains(r.Endpoint, "*"):
			return 1
		}
		return 0
	}
	globs := func(r *Rule) (n int) {
		for _, attr := range r.Attrs {
			if strings.ContainsAny(attr.Pattern, "*?") {
				n++
			}
		}
		return n
	}
	segment := func(s []string, i int) int {
		switch {
		case i >= len(s):
			return 2
		case s[i] == "**":
			return 3
		case s[i] == "*":
			return 1
		}
		return 0
	}
	switch {
	case a.Priority != b.Priority:
		return a.Priority > b.Priority
	case (a.Client == "") != (b.Client == ""):
		return a.Client != ""
	case kind(a) != kind(b):
		return kind(a) < kind(b)
	}
	if kind(a) < 2 {
		x, y := strings.Split(a.Endpoint, "/")[1:], strings.Split(b.Endpoint, "/")[1:]
		for i := range max(len(x), len(y)) {
			if segment(x, i) != segment(y, i) && kind(a) == 1 {
				return segment(x, i) < segment(y, i)
			}
		}
		if m, n := strings.Contains(a.Endpoint, " "), strings.Contains(b.Endpoint, " "); m != n {
			return m
		}
	}
	switch {
	case (a.Tier == "") != (b.Tier == ""):
		return a.Tier != ""
	case len(a.Attrs)-globs(a) != len(b.Attrs)-globs(b):
		return len(a.Attrs)-globs(a) > len(b.Attrs)-globs(b)
	case globs(a) != globs(b):
		return globs(a) > globs(b)
	}
	return a.Name < b.Name
}

// drawPolicy draws from a small world, so that policies meet.
func drawPolicy(t *rapid.T) Policy {
	maybe := func(label string, values ...string) string {
		return rapid.SampledFrom(append(values, "", "")).Draw(t, label)
	}
	p := Policy{
		Name:      fmt.Sprintf("p%d", rapid.IntRange(0, 12).Draw(t, "name")),
		Limit:     rapid.Int64Range(1, 3).Draw(t, "limit"),
		Window:    1_000_000_000,
		Client:    maybe("client", "a", "b"),
		Tier:      maybe("tier", "gold", "free"),
		Endpoint:  maybe("endpoint", "/x", "GET /x", "/x/y", "POST /x/y", "/x/*", "GET /x/*", "/*/y", "/x/**", "/**", "GET /**", "/*/**", "/*"),
		Scope:     maybe("scope", "s"),
		Priority:  rapid.Int64Range(-1, 1).Draw(t, "priority"),
		Mode:      rapid.SampledFrom([]Mode{Enforce, Enforce, Shadow, Off}).Draw(t, "mode"),
		Algorithm: limit.TokenBucket,
	}
	for _, name := range []string{"k", "l"} {
		if pattern := maybe("attr", "1", "2", "*", "1?", "?"); pattern != "" {
			p.Attrs = append(p.Attrs, Attr{name, pattern})
		}
	}
	switch maybe("per", "-", "tier", "l") {
	case "-":
		p.Per = []string{}
	case "tier":
		p.Per = []string{"client", "tier"}
	case "l":
		p.Per = []string{"l"}
	}
	return p
}

func drawRequest(t *rapid.T) *Request {
	pairs := []string{"client=" + rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "client")}
	for _, attr := range [][]string{
		{"tier", "gold", "free"},
		{"endpoint", "/x", "GET /x", "POST /x/y", "GET /x/y", "GET /z/y", "/", "/x/", "/x/y/z", "x"},
		{"k", "1", "2", "12"},
		{"l", "1", "3"},
	} {
		if i := rapid.IntRange(0, len(attr)-1).Draw(t, attr[0]); i > 0 {
			pairs = append(pairs, attr[0]+"="+attr[i])
		}
	}
	return request(pairs...)
}

// However policies are set, replaced and deleted, what is found is what a scan
// over all of them finds, and older views still find what they did.
func TestResolveEqualsAScan(t *testing.T) {
	type moment struct {
		view *View
		all  map[string]*Rule
	}
	rapid.Check(t, func(t *rapid.T) {
		v, all := &View{}, map[string]*Rule{}
		var moments []moment
		for i := range rapid.IntRange(1, 30).Draw(t, "changes") {
			p := drawPolicy(t)
			if rapid.IntRange(0, 4).Draw(t, "delete") == 0 {
				v = v.Delete(p.Name)
				delete(all, p.Name)
			} else {
				r, err := Compile(p, limit.DefaultBounds())
				if err != nil {
					t.Fatal(err)
				}
				r = r.WithVersion(uint64(i + 1))
				v = v.Set(r)
				all[p.Name] = r
			}
			copied := map[string]*Rule{}
			for name, r := range all {
				copied[name] = r
			}
			moments = append(moments, moment{v, copied})
		}
		for _, m := range moments {
			compareWithScan(t, m.view, m.all, drawRequest(t))
		}
	})
}

func compareWithScan(t *rapid.T, v *View, all map[string]*Rule, req *Request) {
	if v.Len() != len(all) {
		t.Fatalf("%d policies, want %d", v.Len(), len(all))
	}
	got := map[string]Pick{}
	for _, p := range v.Resolve(req, nil) {
		got[p.Scope] = p
	}
	for _, scope := range []string{DefaultScope, "s"} {
		want := Pick{Scope: scope, Rule: naive(all, req, scope, Enforce), Shadow: naive(all, req, scope, Shadow)}
		if want.Rule == nil && want.Shadow == nil {
			want.Scope = ""
		}
		if got[scope] != want {
			t.Fatalf("%+v meets %+v in scope %s, want %+v", req, got[scope], scope, want)
		}
		for _, e := range v.Explain(req) {
			if e.Scope == scope && (e.Rule != want.Rule || e.Shadow != want.Shadow) {
				t.Fatalf("explained %+v, want %+v", e.Pick, want)
			}
		}
	}
	var names []string
	for r := range v.From("") {
		if all[r.Name] != r || v.Get(r.Name) != r {
			t.Fatalf("%s is not what was set", r.Name)
		}
		names = append(names, r.Name)
	}
	if len(names) != len(all) || !slices.IsSorted(names) {
		t.Fatalf("listed %q", names)
	}
}

// Readers use any view while the next ones are made, and see whole changes only.
func TestReadersBesideAWriter(t *testing.T) {
	var mu sync.Mutex
	current := viewOf(t, "a ENDPOINT /a", "b")
	latest := func() *View {
		mu.Lock()
		defer mu.Unlock()
		return current
	}
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				v := latest()
				// Each change sets both to one limit.
				if a, b := v.Get("a"), v.Get("b"); (a == nil) != (b == nil) || a != nil && a.Limit != b.Limit {
					t.Errorf("half a change: %+v, %+v", a, b)
					return
				}
				if got := pick(v, request("endpoint=/a")); v.Get("a") != nil && got != "a" {
					t.Errorf("the pick is %q", got)
					return
				}
			}
		})
	}
	v := latest()
	for i := range 2000 {
		if i%10 == 9 {
			v = v.Delete("a").Delete("b")
		} else {
			words := fmt.Sprintf(" LIMIT %d WINDOW 1s", i+1)
			v = v.Set(mustRead(t, "a ENDPOINT /a"+words)).Set(mustRead(t, "b"+words)).Set(mustRead(t, fmt.Sprintf("c%d CLIENT x%d", i, i)+words))
		}
		mu.Lock()
		current = v
		mu.Unlock()
	}
	close(stop)
	readers.Wait()
}

func TestResolveDoesNotAllocate(t *testing.T) {
	v := viewOf(t, ladder()...)
	req, picks := ladderRequest(), make([]Pick, 0, MaxScopes)
	var home, bucket []byte
	if n := testing.AllocsPerRun(100, func() {
		picks = v.Resolve(req, picks[:0])
		home, bucket = picks[0].Rule.Home(home[:0], req), picks[0].Rule.Bucket(bucket[:0], req)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestScopesAreBounded(t *testing.T) {
	v := viewOf(t, "default0")
	for i := range MaxScopes - 1 {
		r := mustRead(t, fmt.Sprintf("p%d LIMIT 1 WINDOW 1s SCOPE s%02d", i, i))
		if err := v.Check(r); err != nil {
			t.Fatal(err)
		}
		v = v.Set(r)
	}
	for text, want := range map[string]string{
		"new SCOPE more": `SCOPE must be one of the 16 that are in use, as there may be no more: "default", "s00", `,
		"p3 SCOPE more":  "", // its own scope goes
		"p3 SCOPE s04":   "",
		"new SCOPE s14":  "",
		"new":            "",
	} {
		err := v.Check(mustRead(t, text+" LIMIT 1 WINDOW 1s"))
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
