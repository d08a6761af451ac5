package admin

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
)

// refusals counts requests that got no further than the guard.
type refusals struct{ host, origin, auth, password atomic.Uint64 }

func (c *refusals) counts() []Count {
	return []Count{
		{"auth", c.auth.Load()},
		{"host", c.host.Load()},
		{"origin", c.origin.Load()},
	}
}

// guard lets a request through to next if it is one that a browser or a
// program on the right side of the door sends: a name that is ours, no foreign
// origin, GET or HEAD without a body unless it is for policies.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		switch {
		case !s.named(r):
			s.refused.host.Add(1)
			say(w, http.StatusForbidden, fmt.Sprintf("host %q is not one of this server's names; --admin-host adds one", r.Host))
		case !sameOrigin(r):
			s.refused.origin.Add(1)
			say(w, http.StatusForbidden, "requests of other origins are not answered")
		case s.takesBody(r):
			next.ServeHTTP(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			say(w, http.StatusMethodNotAllowed, "only GET and HEAD: nothing but policies can be changed here")
		case r.ContentLength != 0:
			w.Header().Set("Connection", "close")
			say(w, http.StatusRequestEntityTooLarge, "requests have no body here")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// secure sets the headers that every answer has. The page needs no script or
// style but its own files.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "+
		"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// say answers with a line of text.
func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, text) // the client may have gone
}

// named says whether the Host of a request names this server. Ports do not
// matter: a tunnel changes them, and whoever can make a name point here can
// choose the port too.
func (s *Server) named(r *http.Request) bool {
	host := hostOnly(r.Host)
	if host == "localhost" || slices.ContainsFunc(s.cfg.Hosts, func(name string) bool { return strings.EqualFold(name, host) }) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	if ip == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || ip == netip.IPv6Loopback() {
		return true
	}
	bound, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && bound.AddrPort().Addr().Unmap() == ip.Unmap()
}

// hostOnly is the host of host, host:port, [v6] or [v6]:port, in lower case.
func hostOnly(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	}
	return strings.ToLower(host)
}

// sameOrigin says whether no page of another origin sent the request. A link
// that somebody follows to the status page is no such request.
func sameOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		return r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	origin, err := url.Parse(origins[0])
	return err == nil && len(origins) == 1 &&
		(origin.Scheme == "http" || origin.Scheme == "https") && strings.EqualFold(origin.Host, r.Host)
}

// visitorKey is where a request's context has the Visitor.
type visitorKey struct{}

// allow lets those through to next whose role is least or higher.
func (s *Server) allow(least Role, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		visitor, named := s.visitor(r)
		switch {
		case visitor.Role >= least:
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitorKey{}, visitor)))
		case named && visitor.Role > RoleNobody:
			s.refused.auth.Add(1)
			say(w, http.StatusForbidden, "this user may not see this")
		default:
			s.refused.auth.Add(1)
			if named {
				s.failed(r)
			}
			w.Header().Set("WWW-Authenticate", `Basic realm="rlserver", charset="UTF-8"`)
			say(w, http.StatusUnauthorized, "a user and a password are needed")
		}
	})
}

// failed tells of a wrong password, and of a user who may see nothing.
func (s *Server) failed(r *http.Request) {
	const most = 64 // bytes of the name
	user, _, _ := r.BasicAuth()
	s.refused.password.Add(1)
	s.cfg.Log.Warn("authentication over HTTP failed", "user", readable(user[:min(len(user), most)]), "addr", r.RemoteAddr)
}

// visitor is what the sender of a request may see, and whether they said who
// they are. Who did not never sees profiles from another machine.
func (s *Server) visitor(r *http.Request) (v Visitor, named bool) {
	user, password, named := r.BasicAuth()
	switch {
	case s.cfg.Access == nil:
		v.Role = RoleAdmin
	case named && user == "":
		return Visitor{}, true // "" stands for those who name no user
	case named:
		return s.cfg.Access(user, password), true
	default:
		v = s.cfg.Access("", "")
	}
	if v.Role == RoleAdmin && !local(r) {
		v.Role = RoleReader
	}
	return v, named
}

// local says whether a request came from this machine.
func local(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && peer.Addr().Unmap().IsLoopback()
}
