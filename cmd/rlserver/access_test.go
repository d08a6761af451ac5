package main

import (
	"crypto/tls"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestAccess is the whole table of who may what, over real sockets: each way
// to protect a server, each door of it, each kind of peer, each category of
// commands.
func TestAccess(t *testing.T) {
	ca, stranger := newAuthority(t, "CA"), newAuthority(t, "another CA")
	files := ca.files(t)
	passwords := []string{"--password", "app-pw", "--admin-password", "admin-pw"}
	acl := []string{"--acl-file", write(t, "acl", "user default off\nuser app on >app-pw ~* +@decide\nuser admin on >admin-pw ~* +@all\n")}

	// What a peer gets, in the order of probes: all, none, or the categories.
	const (
		all    = "decide read admin"
		app    = "decide read"
		decide = "decide"
		none   = "NOAUTH"
		shut   = "TLS" // no handshake
	)
	for _, server := range []struct {
		name                                string
		args                                []string
		user                                string // of applications
		unauthenticated, application, admin string
		wrong                               string // after a wrong password: as before it
		mutual                              bool
	}{
		{"no secret", nil, "default", all, all, "WRONGPASS", all, false},
		{"password", passwords, "default", none, app, all, none, false},
		{"password of admin alone", []string{"--admin-password", "admin-pw"}, "default", app, app, all, app, false},
		{"ACL", acl, "app", none, decide, all, none, false},
		{"no secret, mutual TLS", nil, "default", all, all, "WRONGPASS", all, true},
		{"password, mutual TLS", passwords, "default", none, app, all, none, true},
		{"ACL, mutual TLS", acl, "app", none, decide, all, none, true},
	} {
		t.Run(server.name, func(t *testing.T) {
			s := startServer(t, append(files.flags(server.mutual), server.args...)...)
			type door struct {
				name   string
				addr   string
				secure *tls.Config
				shut   bool
			}
			for _, door := range []door{
				{"plain", s.addr, nil, false},
				{"TLS", s.tlsAddr, ca.trust(), server.mutual},
				{"TLS, certificate", s.tlsAddr, ca.trust(ca.client(t)), false},
				{"TLS, certificate of another authority", s.tlsAddr, forced(ca.trust(), stranger.client(t)), server.mutual},
			} {
				for _, peer := range []struct{ name, auth, want string }{
					{"unauthenticated", "", server.unauthenticated},
					{"wrong password", "AUTH " + server.user + " nonsense", server.wrong},
					{"unknown user", "AUTH nosuch app-pw", server.wrong},
					{"application", "AUTH " + server.user + " app-pw", server.application},
					{"application by HELLO", "HELLO 2 AUTH " + server.user + " app-pw", server.application},
					{"admin", "AUTH admin admin-pw", server.admin},
				} {
					t.Run(door.name+"/"+peer.name, func(t *testing.T) {
						want := peer.want
						if door.shut {
							want = shut
						}
						if got := allowedTo(t, door.addr, door.secure, peer.auth, want); got != want {
							t.Errorf("got %s, want %s", got, want)
						}
					})
				}
			}
		})
	}
}

// forced sends a certificate whether or not the server's authority signed it.
func forced(config *tls.Config, cert tls.Certificate) *tls.Config {
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil }
	return config
}

// allowedTo connects, authenticates and tries a command of each category. It
// returns those that may be run, or what kept the peer out.
func allowedTo(t *testing.T, addr string, secure *tls.Config, auth, want string) string {
	t.Helper()
	c, err := tryDial(addr, secure)
	if err != nil {
		return "TLS"
	}
	defer c.Close()
	// A client of TLS 1.3 learns only now that its certificate was refused.
	ping, err := c.try("PING")
	if err != nil && secure != nil {
		return "TLS"
	}
	if auth != "" {
		reply, err := c.try(auth)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(reply, "-WRONGPASS") && want == "WRONGPASS" {
			return want
		}
		if ping, err = c.try("PING"); err != nil {
			t.Fatal(err)
		}
	}
	if strings.HasPrefix(ping, "-NOAUTH") {
		for _, command := range probes() {
			c.expect(t, command.text, "-NOAUTH Authentication required.")
		}
		return "NOAUTH"
	}
	if ping != "+PONG" {
		t.Errorf("PING: got %s", ping)
	}
	var may, must []string
	for _, probe := range probes() {
		reply := c.ask(t, probe.text)
		allowed := !strings.HasPrefix(reply, "-")
		if !allowed && !strings.HasPrefix(reply, "-NOPERM this user has no permissions to run the '") {
			t.Errorf("%s: %s", probe.text, reply)
		}
		if allowed {
			may = append(may, probe.category)
		}
		if slices.Contains(strings.Fields(want), probe.category) {
			must = append(must, probe.category)
		}
	}
	if !slices.Equal(may, must) {
		return strings.Join(may, " ") // of some category, some commands may be run
	}
	return want
}

type probe struct{ category, text string }

func probes() []probe {
	return []probe{
		{"decide", "RL.ALLOW k 1000000 1h"},
		{"decide", "RL.ALLOW k 1000000 1h 0"},
		{"decide", "RL.REFUND k 1"},
		{"decide", "CL.THROTTLE cl 1000 1000 3600"},
		{"read", "RL.INSPECT k"},
		{"read", "EXISTS k"},
		{"read", "DBSIZE"},
		{"read", "SCAN 0"},
		{"read", "INFO"},
		{"read", "CONFIG GET max-memory"},
		{"admin", "RL.RESET nosuch"},
		{"admin", "DEL nosuch"},
		{"admin", "FLUSHALL"},
		{"admin", "CONFIG SET max-memory 1gb"},
		{"admin", "CONFIG RESETSTAT"},
		{"admin", "CLIENT LIST"},
		{"admin", "CLIENT KILL ID 999999"},
		{"admin", "SLOWLOG RESET"},
		{"admin", "ACL LIST"},
	}
}

// SIGHUP: the new file counts for everybody, those who are in included, and a
// broken one or one that opens a door counts for nobody.
func TestReloadUsers(t *testing.T) {
	const before = "user app on >one ~* +@decide\nuser calm on >calm ~* +@decide\nuser gone on >gone ~* +@decide\nuser ops on >ops ~* +@all\n"
	file := write(t, "acl", before)
	s := startServer(t, "--acl-file", file, "--addr", "0.0.0.0:0")
	_, port, _ := net.SplitHostPort(s.addr)
	addr := net.JoinHostPort("127.0.0.1", port)
	login := func(user, password, want string) *client {
		c := dial(t, addr, nil)
		c.expect(t, "AUTH "+user+" "+password, want)
		return c
	}
	app, calm, gone, nobody := login("app", "one", "+OK"), login("calm", "calm", "+OK"), login("gone", "gone", "+OK"), dial(t, addr, nil)
	nobody.expect(t, "PING", "-NOAUTH")

	for _, bad := range []struct{ text, want string }{
		{"user app on >two-secret ~* +@nosuch\n", "unknown category @nosuch"},
		{"", "it names no user"},
		{before + "user default on nopass ~* +@decide\n", "would be open to the network"},
	} {
		replace(t, file, []byte(bad.text))
		s.signal(t, syscall.SIGHUP)
		if line := s.expectLog(t, "the new users cannot be used; the old ones stay"); !strings.Contains(line["err"].(string), bad.want) {
			t.Errorf("logged %v, want %s", line, bad.want)
		}
		for _, c := range []*client{app, calm, gone} {
			c.expect(t, "RL.ALLOW k 1000 1h", "[")
		}
	}

	replace(t, file, []byte("user app on >two-secret ~* +@decide\n# calm\nuser  calm  on >calm ~* +@decide\nuser new on >new ~* +@decide\nuser ops on >ops ~* +@all\n"))
	s.signal(t, syscall.SIGHUP)
	if line := s.expectLog(t, "users reloaded"); line["connections-cut"] != 2.0 || line["users"] != 4.0 {
		t.Errorf("logged %v", line)
	}
	for name, c := range map[string]*client{"whose password changed": app, "who is gone": gone} {
		if reply, err := c.try("RL.ALLOW k 1000 1h"); err == nil {
			t.Errorf("the user %s is still in: %s", name, reply)
		}
	}
	calm.expect(t, "RL.ALLOW k 1000 1h", "[")
	nobody.expect(t, "AUTH new new", "+OK")
	login("app", "one", "-WRONGPASS")
	login("app", "two-secret", "+OK")
	login("gone", "gone", "-WRONGPASS")
	if strings.Contains(s.log.String(), "two-secret") {
		t.Error("the log shows a password")
	}
}

// Passwords in files change the same way.
func TestReloadPasswords(t *testing.T) {
	file := write(t, "password", "one\n")
	s := startServer(t, "--password-file", file, "--admin-password", "root")
	app, admin := dial(t, s.addr, nil), dial(t, s.addr, nil)
	app.expect(t, "AUTH one", "+OK")
	admin.expect(t, "AUTH admin root", "+OK")
	replace(t, file, []byte("root\n"))
	s.signal(t, syscall.SIGHUP)
	s.expectLog(t, "the new users cannot be used; the old ones stay")
	app.expect(t, "PING", "+PONG")
	replace(t, file, []byte("two\n"))
	s.signal(t, syscall.SIGHUP)
	s.expectLog(t, "users reloaded")
	admin.expect(t, "PING", "+PONG")
	if _, err := app.try("PING"); err == nil {
		t.Error("who came in with the old password is still in")
	}
	dial(t, s.addr, nil).expect(t, "AUTH one", "-WRONGPASS")
	dial(t, s.addr, nil).expect(t, "AUTH two", "+OK")
}
