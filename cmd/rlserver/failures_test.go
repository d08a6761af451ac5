package main

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// field is a line of the log's field, as text.
func field(line map[string]any, name string) string {
	text, _ := line[name].(string)
	return text
}

// scrape reads the metrics, with the secrets of admin.
func scrape(t *testing.T, client *http.Client, url, user, password string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		request.SetBasicAuth(user, password)
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// TestFailedAuthentication: it is logged with name and address, never with the
// password, and counted, at both doors.
func TestFailedAuthentication(t *testing.T) {
	const guess = "gu3ss-of-a-password"
	s := startServer(t, "--password", "app-pw", "--admin-password", "admin-pw")
	for _, row := range []struct{ command, user string }{
		{"AUTH " + guess, "default"},
		{"AUTH admin " + guess, "admin"},
		{"HELLO 3 AUTH no\x01body " + guess, `no\x01body`},
		{"AUTH " + strings.Repeat("n", 500) + " " + guess, strings.Repeat("n", 64)},
	} {
		c := dial(t, s.addr, nil)
		c.expect(t, row.command, "-WRONGPASS invalid username-password pair or user is disabled.")
		line := s.expectLog(t, "authentication failed")
		if field(line, "user") != row.user || field(line, "addr") != c.LocalAddr().String() {
			t.Errorf("%.40q: logged %v", row.command, line)
		}
	}
	url := "http://" + s.atHTTP
	for _, user := range []string{"admin", "no\x02body"} {
		if status, _ := scrape(t, http.DefaultClient, url, user, guess); status != http.StatusUnauthorized {
			t.Errorf("%q: status %d", user, status)
		}
		line := s.expectLog(t, "authentication over HTTP failed")
		if want := strings.ReplaceAll(user, "\x02", `\x02`); field(line, "user") != want || !strings.HasPrefix(field(line, "addr"), "127.0.0.1:") {
			t.Errorf("%q: logged %v", user, line)
		}
	}
	if status, _ := scrape(t, http.DefaultClient, url, "", ""); status != http.StatusUnauthorized { // is no guess
		t.Errorf("without a password: status %d", status)
	}
	_, metrics := scrape(t, http.DefaultClient, url, "admin", "admin-pw")
	for _, want := range []string{`rlserver_auth_failures_total{door="redis"} 4`, `rlserver_auth_failures_total{door="http"} 2`} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if strings.Contains(s.log.String(), guess) {
		t.Error("a password is in the log")
	}
}

// TestFailedHandshakes: they are logged with their reason and address, and
// counted, at both doors.
func TestFailedHandshakes(t *testing.T) {
	ca, other := newAuthority(t, "CA"), newAuthority(t, "another CA")
	s := startServer(t, append(ca.files(t).flags(true), "--admin-tls", "--handshake-timeout", "300ms")...)
	for door, addr := range map[string]string{"TLS handshake failed": s.tlsAddr, "TLS handshake for HTTP failed": s.atHTTP} {
		for _, row := range []struct {
			name, send string
			config     *tls.Config
			why        string
		}{
			{"no TLS", "PING\r\n", nil, "first record does not look like a TLS handshake"},
			{"no certificate", "", ca.trust(), "client didn't provide a certificate"},
			{"a foreign certificate", "", forced(ca.trust(), other.client(t)), "certificate signed by unknown authority"},
			{"an old version", "", old(ca.trust(ca.client(t))), "unsupported versions"},
		} {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			if row.config != nil {
				_ = tls.Client(conn, row.config).HandshakeContext(t.Context()) // TLS 1.3 tells later
			} else if _, err := io.WriteString(conn, row.send); err != nil {
				t.Fatal(err)
			}
			line := s.expectLog(t, door)
			if !strings.Contains(field(line, "why"), row.why) || field(line, "addr") != conn.LocalAddr().String() {
				t.Errorf("%s: logged %v, want %s and %s", row.name, line, row.why, conn.LocalAddr())
			}
			if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for door, addr := range map[string]string{"TLS handshake failed": s.tlsAddr, "TLS handshake for HTTP failed": s.atHTTP} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		begin := time.Now()
		if line := s.expectLog(t, door); field(line, "why") != "it took too long" {
			t.Errorf("silence: logged %v", line)
		}
		if took := time.Since(begin); took > 3*time.Second { // HTTP's own patience is 5 s
			t.Errorf("silence was borne for %s", took)
		}
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: ca.trust(ca.client(t))}, Timeout: patience}
	defer client.CloseIdleConnections()
	_, metrics := scrape(t, client, "https://"+s.atHTTP, "", "")
	for _, want := range []string{`rlserver_tls_handshake_failures_total{door="redis"} 5`, `rlserver_tls_handshake_failures_total{door="http"} 5`} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

// TestPlainHTTPAtTheTLSDoor: who forgot the s of https is told, and nobody else.
func TestPlainHTTPAtTheTLSDoor(t *testing.T) {
	s := startServer(t, append(newAuthority(t, "CA").files(t).flags(false), "--admin-tls")...)
	status, body := scrape(t, http.DefaultClient, "http://"+s.atHTTP, "", "")
	if status != http.StatusBadRequest || !strings.Contains(body, "HTTPS") {
		t.Errorf("status %d, %q", status, body)
	}
	s.expectLog(t, "TLS handshake for HTTP failed")
	conn, err := net.Dial("tcp", s.atHTTP)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "AUTH me\r\n"); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(conn); strings.Contains(string(answer), "HTTP") {
		t.Errorf("no HTTP: answered %q, %v", answer, err)
	}
}

// old speaks TLS 1.1 at most.
func old(config *tls.Config) *tls.Config {
	config.MinVersion, config.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 //nolint:gosec // it must be refused
	return config
}

// What a peer says comes into the log in one line, and not all of it.
func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                  "plain",
		"a\nb \u202e\xff\"":      `a\nb \u202e\xff\"`,
		strings.Repeat("x", 999): strings.Repeat("x", 256),
	} {
		if got := oneLine(in); got != want {
			t.Errorf("oneLine(%q) = %q, want %q", in, got, want)
		}
	}
}
