package admin

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// ask sends one request to s as if it came over a connection from peer to
// local, without a socket.
func ask(s *Server, r *http.Request, peer, local string) *httptest.ResponseRecorder {
	r.RemoteAddr = peer
	addr := net.TCPAddrFromAddrPort(mustAddrPort(local))
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, addr))
	w := httptest.NewRecorder()
	s.http.Handler.ServeHTTP(w, r)
	return w
}

func TestHost(t *testing.T) {
	cfg := config(newFakeNode())
	cfg.Hosts = []string{"limits.example.com", "192.0.2.7"}
	s := newServer(t, cfg)
	for _, test := range []struct {
		host  string
		local string
		ok    bool
	}{
		{"localhost", "127.0.0.1:8379", true},
		{"localhost:8379", "127.0.0.1:8379", true},
		{"LOCALHOST:1", "127.0.0.1:8379", true},
		{"127.0.0.1:8379", "127.0.0.1:8379", true},
		{"127.0.0.1", "10.0.0.5:8379", true},
		{"[::1]:8379", "[::1]:8379", true},
		{"[::1]", "[::1]:8379", true},
		{"10.0.0.5:8379", "10.0.0.5:8379", true},
		{"10.0.0.5:8379", "[::ffff:10.0.0.5]:8379", true},
		{"limits.example.com", "10.0.0.5:8379", true},
		{"Limits.Example.com:8379", "127.0.0.1:8379", true},
		{"192.0.2.7:80", "10.0.0.5:8379", true},
		{"10.0.0.6:8379", "10.0.0.5:8379", false},
		{"evil.example", "127.0.0.1:8379", false},
		{"evil.example:8379", "127.0.0.1:8379", false},
		{"localhost.evil.example", "127.0.0.1:8379", false},
		{"127.0.0.1.evil.example", "127.0.0.1:8379", false},
		{"127.0.0.1@evil.example", "127.0.0.1:8379", false},
		{"xlimits.example.com", "127.0.0.1:8379", false},
		{"0.0.0.0:8379", "127.0.0.1:8379", false},
		{"[::]:8379", "[::1]:8379", false},
		{"", "127.0.0.1:8379", false},
		{":8379", "127.0.0.1:8379", false},
		{"::1", "[::1]:8379", true},
		{strings.Repeat("a", 10_000), "127.0.0.1:8379", false},
	} {
		for _, path := range []string{"/", "/healthz", "/metrics", "/debug/pprof/", "/page.js", "/nothing"} {
			r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
			r.Host = test.host
			w := ask(s, r, "127.0.0.1:5000", test.local)
			if refused := w.Code == http.StatusForbidden; refused == test.ok {
				t.Errorf("%s with Host %.40q at %s: status %d", path, test.host, test.local, w.Code)
			}
		}
	}
}

func TestOrigin(t *testing.T) {
	s := newServer(t, config(newFakeNode()))
	for _, test := range []struct {
		name   string
		header http.Header
		ok     bool
	}{
		{"none", nil, true},
		{"own", http.Header{"Origin": {"http://localhost:8379"}}, true},
		{"own behind TLS", http.Header{"Origin": {"https://localhost:8379"}}, true},
		{"foreign", http.Header{"Origin": {"http://evil.example"}}, false},
		{"another port", http.Header{"Origin": {"http://localhost:3000"}}, false},
		{"own and a foreign one", http.Header{"Origin": {"http://localhost:8379", "http://evil.example"}}, false},
		{"null", http.Header{"Origin": {"null"}}, false},
		{"empty", http.Header{"Origin": {""}}, false},
		{"another scheme", http.Header{"Origin": {"file://localhost:8379"}}, false},
		{"no URL", http.Header{"Origin": {"http://%zz"}}, false},
		{"the page's own fetch", http.Header{"Sec-Fetch-Site": {"same-origin"}, "Sec-Fetch-Mode": {"cors"}}, true},
		{"typed", http.Header{"Sec-Fetch-Site": {"none"}, "Sec-Fetch-Mode": {"navigate"}}, true},
		{"followed link", http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Dest": {"document"}}, true},
		{"foreign frame", http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Dest": {"iframe"}}, false},
		{"foreign fetch", http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"no-cors"}, "Sec-Fetch-Dest": {"script"}}, false},
		{"fetch of another port", http.Header{"Sec-Fetch-Site": {"same-site"}, "Sec-Fetch-Mode": {"cors"}}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/live", http.NoBody)
			r.Host = "localhost:8379"
			for name, values := range test.header {
				r.Header[name] = values
			}
			w := ask(s, r, "127.0.0.1:5000", "127.0.0.1:8379")
			if (w.Code == http.StatusOK) != test.ok {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
		})
	}
}

func TestMethodsAndBodies(t *testing.T) {
	s := newServer(t, config(newFakeNode()))
	for _, test := range []struct {
		method, body string
		status       int
	}{
		{http.MethodGet, "", http.StatusOK},
		{http.MethodHead, "", http.StatusOK},
		{http.MethodPost, "", http.StatusMethodNotAllowed},
		{http.MethodPut, "", http.StatusMethodNotAllowed},
		{http.MethodDelete, "", http.StatusMethodNotAllowed},
		{http.MethodOptions, "", http.StatusMethodNotAllowed},
		{http.MethodConnect, "", http.StatusMethodNotAllowed},
		{"BREW", "", http.StatusMethodNotAllowed},
		{http.MethodGet, "x", http.StatusRequestEntityTooLarge},
	} {
		for _, path := range []string{"/", "/live", "/metrics", "/healthz", "/readyz", "/page.css", "/page.js", "/favicon.svg"} {
			r := httptest.NewRequest(test.method, path, strings.NewReader(test.body))
			r.Host = "localhost"
			w := ask(s, r, "127.0.0.1:5000", "127.0.0.1:8379")
			if w.Code != test.status {
				t.Errorf("%s %s, body %q: status %d, want %d", test.method, path, test.body, w.Code, test.status)
			}
			if w.Code == http.StatusMethodNotAllowed && w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: Allow is %q", test.method, path, w.Header().Get("Allow"))
			}
		}
	}
}

func TestSecurityHeaders(t *testing.T) {
	cfg := config(newFakeNode())
	cfg.Access = func(string, string) Visitor { return Visitor{} }
	for name, s := range map[string]*Server{"open": newServer(t, config(newFakeNode())), "closed": newServer(t, cfg)} {
		for _, path := range []string{"/", "/live", "/metrics", "/healthz", "/page.js", "/debug/pprof/", "/nothing"} {
			w := ask(s, httptest.NewRequest(http.MethodGet, "http://localhost"+path, http.NoBody), "127.0.0.1:5000", "127.0.0.1:8379")
			csp := w.Header().Get("Content-Security-Policy")
			for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "script-src 'self'"} {
				if !strings.Contains(csp, want) {
					t.Errorf("%s, %s: no %s in %q", name, path, want, csp)
				}
			}
			if strings.Contains(csp, "unsafe") {
				t.Errorf("%s, %s: inline code is allowed: %q", name, path, csp)
			}
			for header, want := range map[string]string{
				"X-Content-Type-Options": "nosniff",
				"X-Frame-Options":        "DENY",
				"Cache-Control":          "no-store",
				"Referrer-Policy":        "no-referrer",
			} {
				if got := w.Header().Get(header); got != want {
					t.Errorf("%s, %s: %s is %q, want %q", name, path, header, got, want)
				}
			}
		}
	}
}
