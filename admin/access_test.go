package admin

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func mustAddrPort(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// TestAccess: who may ask what, from here and from elsewhere.
func TestAccess(t *testing.T) {
	// users has an admin and a reader; open says what those may who name nobody.
	users := func(open Role) func(user, password string) Visitor {
		return func(user, password string) Visitor {
			switch {
			case user == "":
				return Visitor{Role: open}
			case user == "admin" && password == "secret":
				return Visitor{Role: RoleAdmin}
			case user == "default" && password == "word":
				return Visitor{Role: RoleReader}
			}
			return Visitor{}
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
		access         func(user, password string) Visitor
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
				"/debug/pprof/": test.pprof, "/debug/pprof/symbol": test.pprof,
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
	cfg.Access = func(user, _ string) Visitor {
		if user != "" {
			t.Errorf("user %q was asked for", user)
		}
		return Visitor{}
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

// TestKeysOfAVisitor: who may only name some keys is shown no others.
func TestKeysOfAVisitor(t *testing.T) {
	node := newFakeNode()
	for i := range 50 {
		node.asked = append(node.asked, TopKey{fmt.Sprintf("other:%02d", i), 100}, TopKey{fmt.Sprintf("mine:%02d", i), 50})
	}
	cfg := config(node)
	cfg.Access = func(user, _ string) Visitor {
		if user == "some" {
			return Visitor{Role: RoleReader, Sees: func(key string) bool { return strings.HasPrefix(key, "mine:") }}
		}
		return Visitor{Role: RoleReader}
	}
	s := newServer(t, cfg)
	for user, want := range map[string][]string{
		"some": {"mine:00", "mine:01", "mine:09"},
		"all":  {"other:00", "mine:00", "other:04", "mine:04"},
	} {
		r := newRequest("/live", "localhost")
		r.SetBasicAuth(user, "x")
		page := ask(s, r, "127.0.0.1:5000", "127.0.0.1:8379").Body.String()
		for _, key := range want {
			if !strings.Contains(page, ">"+key+"<") {
				t.Errorf("%s is not shown %s", user, key)
			}
		}
		if n := strings.Count(page, `<bdi class="name"`); n != topShown {
			t.Errorf("%s is shown %d keys", user, n)
		}
		if user == "some" && strings.Contains(page, "other:") {
			t.Error("a foreign key is shown")
		}
	}
}
