package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// variousPolicies use every field, and text that files must quote.
const variousPolicies = `policies:
  - {name: plain, limit: 10, window: 1m}
  - {name: "null", limit: 1, window: 1s, tier: "true"}
  - {name: "1e3", limit: 1, window: 1s, client: "0x10"}
  - {name: 'client:"é" #1', limit: 1, window: 1s, client: 'a: b'}
  - name: whole
    limit: 5
    window: 1h
    burst: 7
    endpoint: POST /v1/*/login
    attr: {country: "ch*", plan: "no"}
    per: [client, country]
    scope: login
    priority: -3
    on_error: closed
    on_loss: empty
    force: true
    mode: shadow
`

// What is exported is what was applied, in both formats.
func TestExportRoundTrip(t *testing.T) {
	h := hostPolicies(t, nil, nil)
	h.run(t, variousPolicies, "apply", "-").expect(t, 0, "5 added, 0 changed, 0 deleted\n", "")
	other := hostPolicies(t, nil, nil)
	for _, format := range []string{"yaml", "json"} {
		out := h.run(t, "", "export", "--format", format)
		out.expect(t, 0, "whole", "")
		if strings.Contains(out.stdout, "version") {
			t.Errorf("the versions of one server are in the file:\n%s", out.stdout)
		}
		h.run(t, out.stdout, "apply", "-").expect(t, 0, "nothing to change\n", "")
		other.run(t, "policies: []", "apply", "-")
		other.run(t, out.stdout, "apply", "-").expect(t, 0, "5 added", "")
		if again := other.run(t, "", "export", "--format", format); again.stdout != out.stdout {
			t.Errorf("exported again it is\n%s\nnot\n%s", again.stdout, out.stdout)
		}
	}
}

func TestExportNothing(t *testing.T) {
	h := hostPolicies(t, nil, nil)
	for _, format := range []string{"yaml", "json"} {
		out := h.run(t, "", "export", "--format", format)
		out.expect(t, 0, "policies", "")
		h.run(t, out.stdout, "apply", "-").expect(t, 0, "nothing to change\n", "")
	}
}

func TestExportPages(t *testing.T) {
	h := hostPolicies(t, nil, nil)
	const n = 2*policyPage + 1
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("p%04d 1", i))
	}
	h.run(t, document(all...), "apply", "-").expect(t, 0, fmt.Sprintf("%d added", n), "")
	out := h.run(t, "", "export")
	if got := strings.Count(out.stdout, "name: "); out.code != 0 || got != n {
		t.Errorf("%d policies, want %d; exit %d %s", got, n, out.code, out.stderr)
	}
	h.run(t, out.stdout, "apply", "-").expect(t, 0, "nothing to change\n", "")
}

// A server that is none, or an endless one, prints nothing.
func TestExportOfStrangers(t *testing.T) {
	for answer, want := range map[string]string{
		`<html>hello</html>`:            "does not answer as rlserver does",
		`{}`:                            "does not answer as rlserver does",
		`{"policies": [], "next": "a"}`: "does not answer as rlserver does",
		`{"policies": [{"name": "a", "limit": 1, "window": "1s", "colour": "red"}]}`:          `cannot read, perhaps because it is older: "colour" is no field`,
		`{"policies": [{"name": "a", "limit": 1, "window": "1s"}, {"name": "b", "limit": 1}]`: "does not answer as rlserver does",
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }))
		defer s.Close()
		runPolicyWords(t, nil, "", "export", "--url", s.URL).expect(t, 1, "", want)
	}
}
