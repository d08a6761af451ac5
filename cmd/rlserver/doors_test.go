package main

import (
	"io"
	"net"
	"strings"
	"testing"
)

// TestProtectedMode: nobody from the network comes in who has not shown who
// they are, by a password or by a certificate.
func TestProtectedMode(t *testing.T) {
	files := newAuthority(t, "CA").files(t)
	pair := []string{"--tls-cert", files.cert, "--tls-key", files.key}
	mutual := append(pair, "--tls-ca", files.ca)
	password := []string{"--password", "secret"}
	open := []string{"--acl-file", write(t, "open", "user default on nopass ~* +@decide\nuser ops on >pw ~* +@all\n")}
	closed := []string{"--acl-file", write(t, "closed", "user app on >pw ~* +@all\n")}
	for _, test := range []struct {
		name string
		args [][]string
		want string // of the error; "": it may start
	}{
		{"the default", nil, ""},
		{"IPv6 loopback", [][]string{{"--addr", "[::1]:0"}}, ""},
		{"all of 127", [][]string{{"--addr", "127.1.2.3:0"}}, ""},
		{"a name", [][]string{{"--addr", "localhost:0"}}, ""},
		{"network", [][]string{{"--addr", "0.0.0.0:0"}}, "--addr 0.0.0.0:0 would be open to the network"},
		{"every address", [][]string{{"--addr", ":0"}}, "--addr :0 would be open"},
		{"every address of IPv6", [][]string{{"--addr", "[::]:0"}}, "--addr [::]:0 would be open"},
		{"private network", [][]string{{"--addr", "10.0.0.1:0"}}, "would be open"},
		{"another name", [][]string{{"--addr", "example.com:0"}}, "would be open"},
		{"network, password", [][]string{{"--addr", ":0"}, password}, ""},
		{"network, password of admin alone", [][]string{{"--addr", ":0", "--admin-password", "x"}}, "would be open"},
		{"network, ACL", [][]string{{"--addr", ":0"}, closed}, ""},
		{"network, ACL that lets everybody in", [][]string{{"--addr", ":0"}, open}, "would be open"},
		{"network, TLS beside it", [][]string{{"--addr", ":0", "--tls-addr", ":0"}, mutual}, "--addr :0 would be open"},
		{"network over TLS", [][]string{{"--tls-addr", ":0"}, pair}, "--tls-addr :0 would be open"},
		{"network over TLS, password", [][]string{{"--tls-addr", ":0"}, pair, password}, ""},
		{"network over mutual TLS", [][]string{{"--tls-addr", ":0"}, mutual}, ""},
		{"only TLS", [][]string{{"--addr", "", "--tls-addr", ":0"}, mutual}, ""},
		{"nothing", [][]string{{"--addr", ""}}, "--addr and --tls-addr are both empty"},
		{"HTTP to the network", [][]string{{"--admin-addr", ":0"}}, "--admin-addr :0 would be open"},
		{"HTTP to the network, password", [][]string{{"--admin-addr", ":0"}, password}, ""},
		{"HTTP to the network over TLS", [][]string{{"--admin-addr", ":0", "--admin-tls"}, pair}, "--admin-addr :0 would be open"},
		{"HTTP to the network over mutual TLS", [][]string{{"--admin-addr", ":0", "--admin-tls"}, mutual}, ""},
		{"HTTP to the network, only Redis over mutual TLS", [][]string{{"--admin-addr", ":0", "--tls-addr", ":0"}, mutual}, "--admin-addr :0 would be open"},
		{"no HTTP, but over TLS", [][]string{{"--admin-addr", "", "--admin-tls"}, pair}, "--admin-tls needs --admin-addr"},
		{"TLS without a pair", [][]string{{"--tls-addr", ":0"}, password}, "need --tls-cert and --tls-key"},
		{"pair without TLS", [][]string{pair}, "need --tls-addr or --admin-tls"},
		{"pair of nothing", [][]string{{"--tls-addr", "localhost:0", "--tls-cert", files.key, "--tls-key", files.key}}, "certificate " + files.key},
		{"authority of nothing", [][]string{{"--tls-addr", ":0", "--tls-ca", files.key}, pair}, errNoCertificate.Error()},
		{"files that are not there", [][]string{{"--tls-addr", ":0", "--tls-cert", "nosuch.crt", "--tls-key", "nosuch.key"}}, "open nosuch.key"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var args []string
			for _, a := range test.args {
				args = append(args, a...)
			}
			_, err := parseConfig(args, environ(nil), io.Discard)
			if test.want == "" && err != nil {
				t.Fatal(err)
			}
			if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Fatalf("got %v, want %s", err, test.want)
			}
		})
	}
}

// Each door that is taken is named, and those that were opened before it are
// shut again.
func TestTakenDoors(t *testing.T) {
	files := newAuthority(t, "CA").files(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, flag := range []string{"addr", "tls-addr", "admin-addr"} {
		args := append(files.flags(false), "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--"+flag, taken.Addr().String())
		got := execute(t, serverCommand(t, args...))
		if got.exit != 1 || !strings.Contains(got.stderr, "cannot listen on "+taken.Addr().String()+" (--"+flag+")") {
			t.Errorf("%s: %+v", flag, got)
		}
	}
}

// A server of TLS alone says where it is.
func TestOnlyTLS(t *testing.T) {
	ca := newAuthority(t, "CA")
	s := startServer(t, append(ca.files(t).flags(false), "--addr", "")...)
	if s.addr != "off" {
		t.Errorf("it listens on %s", s.addr)
	}
	c := dial(t, s.tlsAddr, ca.trust())
	_, port, _ := net.SplitHostPort(s.tlsAddr)
	if info := c.ask(t, "INFO server"); !strings.Contains(info, "tcp_port:"+port+"\r\n") {
		t.Error(info)
	}
	c.expect(t, "CONFIG GET port", "[port "+port+"]")
	c.expect(t, "CONFIG GET bind", "[bind 127.0.0.1]")
}
