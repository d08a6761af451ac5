package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rlserver/rlserver/policy"
)

// What the server says of a write decides the exit code.
func TestApplyWriteFails(t *testing.T) {
	h := hostPolicies(t, nil, nil)
	h.policies.err = fmt.Errorf("no majority of the voters answered within 2s: %w", policy.ErrNotWritten)
	h.run(t, document("a 1"), "apply", "-").expect(t, 1, "", "answers 503: no majority of the voters answered within 2s")
	h.policies.err = fmt.Errorf("no answer of the leader within 2s: %w", policy.ErrOutcomeUnknown)
	h.run(t, document("a 1"), "apply", "-").expect(t, 2, "", "outcome unknown")
	h.run(t, document("a 1"), "apply", "-", "--dry-run").expect(t, 0, "+ a", "")
	h.policies.err, h.policies.silent = nil, true
	h.run(t, document("a 1"), "apply", "-", "--timeout", "1s").expect(t, 2, "", "no answer within 1s (--timeout)")
}

// Interrupted, a write that was sent may have happened.
func TestApplyInterrupted(t *testing.T) {
	h := hostPolicies(t, nil, nil)
	ctx, interrupt := context.WithCancel(t.Context())
	h.policies.silent, h.policies.replaced = true, interrupt
	var stdout, stderr strings.Builder
	sh := shell{func(string) string { return "" }, strings.NewReader(document("a 1")), &stdout}
	code := policiesCommand(ctx, []string{"apply", "--url", h.url, "-"}, sh, &stderr)
	outcome{code, stdout.String(), stderr.String()}.expect(t, 2, "", "interrupted before the answer came")
}

// A connection that is lost, or an answer of somebody on the way, leaves the
// outcome unknown if the server had the policies, and only then.
func TestApplyUncertainAnswers(t *testing.T) {
	hangUp := func(w http.ResponseWriter) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			conn.Close()
		}
	}
	whole := func(then http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				t.Error(err)
			}
			then(w, r)
		}
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<h1>\x1b[2Jproxy</h1>", code) }
	}
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		code    int
		want    string
	}{
		{"lost, sent", whole(func(w http.ResponseWriter, _ *http.Request) { hangUp(w) }), 2, "EOF"},
		{"lost, not sent", func(w http.ResponseWriter, _ *http.Request) { hangUp(w) }, 1, "EOF"},
		{"502, sent", whole(status(502)), 2, "answers 502: <h1> [2Jproxy</h1>"},
		{"502, not sent", status(502), 1, "answers 502"},
		{"503 of a proxy", whole(status(503)), 2, "answers 503"},
		{"504", whole(status(504)), 2, "answers 504"},
		{"500", whole(status(500)), 2, "answers 500"},
		{"404", whole(status(404)), 1, "is --url the server's --admin-addr"},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example/v1/policies", http.StatusTemporaryRedirect)
		}, 1, `redirects are not followed; --url may have to be that of "https://elsewhere.example/v1/policies"`},
		{"another server", whole(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }), 2, "does not answer as rlserver does"},
		{"half an answer", whole(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{"changes": [`)
		}), 2, "unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := httptest.NewServer(c.handler)
			defer s.Close()
			runPolicyWords(t, nil, document("a 1"), "apply", "-", "--url", s.URL).expect(t, c.code, "", c.want)
		})
	}
}

func TestApplyToNobody(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	runPolicyWords(t, nil, document("a 1"), "apply", "-", "--url", "http://"+ln.Addr().String()).
		expect(t, 1, "", "is the server running, and is --url its --admin-addr?")
}
