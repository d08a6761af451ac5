package admin

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func mustAddrPort(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// TestAccess: who may ask what, from here and from elsewhere.
func TestAccess(t *testing.T) {
	// users has an admin and a reader; open says what those may who name nobody.
	users := func(open Role) func(user, password string) Role {
		return func(user, password string) Role {
			switch {
			case user == "":
				return open
			case user == "admin" && password == "secret":
				return RoleAdmin
			case user == "default" && password == "word":
				return RoleReader
			}
			return RoleNobody
		}
	}
	const (
		ok        = http.StatusOK
		who       = http.StatusUnauthorized
		forbidden = http.StatusForbidden
		here      = "127.0.0.1:5000"
		mapped    = "[::ffff:127.0.0.1]:5000"
		elsewhere = "192.0.2.9:5000"
	)
	for _, test := range []struct {
		name           string
		access         func(user, password string) Role
		user, password string
		peer           string
		page, pprof    int
	}{
		{"no users, here", nil, "", "", here, ok, ok},
		{"no users, here, mapped", nil, "", "", mapped, ok, ok},
		{"no users, elsewhere", nil, "", "", elsewhere, ok, who},
		{"no users, a name", nil, "admin", "x", here, ok, ok},
		{"no users, a name from elsewhere", nil, "admin", "x", elsewhere, ok, forbidden},
		{"open to readers", users(RoleReader), "", "", here, ok, who},
		{"open to admins, here", users(RoleAdmin), "", "", here, ok, ok},
		{"open to admins, elsewhere", users(RoleAdmin), "", "", elsewhere, ok, who},
		{"closed, nobody", users(RoleNobody), "", "", here, who, who},
		{"closed, wrong password", users(RoleNobody), "admin", "word", here, who, who},
		{"closed, unknown user", users(RoleNobody), "root", "secret", here, who, who},
		{"closed, empty user", users(RoleNobody), "", "secret", here, who, who},
		{"open, empty user", users(RoleAdmin), "", "secret", here, who, who},
		{"closed, reader", users(RoleNobody), "default", "word", elsewhere, ok, forbidden},
		{"closed, admin", users(RoleNobody), "admin", "secret", elsewhere, ok, ok},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := config(newFakeNode())
			cfg.Access = test.access
			s := newServer(t, cfg)
			for path, want := range map[string]int{
				"/": test.page, "/live": test.page, "/metrics": test.page,
				"/debug/pprof/": test.pprof, "/debug/pprof/cmdline": test.pprof, "/debug/pprof/symbol": test.pprof,
				"/debug/pprof/goroutine": test.pprof, "/debug/pprof/profile?seconds=0.001": test.pprof,
				"/healthz": ok, "/readyz": ok, "/page.css": ok,
			} {
				if path == "/debug/pprof/profile?seconds=0.001" && want == ok {
					continue // TestProfile takes one
				}
				r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, http.NoBody)
				if test.user+test.password != "" {
					r.SetBasicAuth(test.user, test.password)
				}
				w := ask(s, r, test.peer, "127.0.0.1:8379")
				if w.Code != want {
					t.Errorf("%s: status %d, want %d", path, w.Code, want)
				}
				if challenged := w.Header().Get("WWW-Authenticate") != ""; challenged != (w.Code == who) {
					t.Errorf("%s: status %d, challenged %v", path, w.Code, challenged)
				}
			}
		})
	}
}

func TestBadCredentials(t *testing.T) {
	cfg := config(newFakeNode())
	cfg.Access = func(user, _ string) Role {
		if user != "" {
			t.Errorf("user %q was asked for", user)
		}
		return RoleNobody
	}
	s := newServer(t, cfg)
	for _, header := range []string{"Basic", "Basic !!!", "Basic Zm9v", "Bearer abc", "basic  Og==", "Digest x"} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/", http.NoBody)
		r.Header.Set("Authorization", header)
		if w := ask(s, r, "127.0.0.1:5000", "127.0.0.1:8379"); w.Code != http.StatusUnauthorized {
			t.Errorf("%q: status %d", header, w.Code)
		}
	}
}
