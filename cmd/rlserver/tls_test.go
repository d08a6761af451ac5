package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rlserver/rlserver/resp/server"
)

// handshake returns the certificate that a server shows, or why one of the two
// refuses the other.
func handshake(t *testing.T, server, ours *tls.Config) (*x509.Certificate, error) {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	theirs := make(chan error, 1)
	go func() {
		theirs <- tls.Server(b, server).Handshake()
		b.Close()
	}()
	conn := tls.Client(a, ours)
	if err := conn.Handshake(); err != nil {
		a.Close()
		return nil, errors.Join(err, <-theirs)
	}
	_, _ = conn.Read(make([]byte, 1)) // until the server has looked at our certificate
	return conn.ConnectionState().PeerCertificates[0], <-theirs
}

func TestCertificatesReload(t *testing.T) {
	ca, other := newAuthority(t, "CA"), newAuthority(t, "another CA")
	f := ca.files(t)
	certs, err := newCertificates(f.cert, f.key, f.ca)
	if err != nil {
		t.Fatal(err)
	}
	ours := ca.trust(ca.client(t))
	serial := func() string {
		t.Helper()
		cert, err := handshake(t, certs.serverConfig(), ours)
		if err != nil {
			t.Fatal(err)
		}
		return cert.SerialNumber.String()
	}
	reload := func(wantChanged bool, wantErr string) {
		t.Helper()
		changed, err := certs.reload()
		if changed != wantChanged || (err == nil) != (wantErr == "") || err != nil && !strings.Contains(err.Error(), wantErr) {
			t.Errorf("changed %v, %v; want %v, %s", changed, err, wantChanged, wantErr)
		}
	}
	first := serial()
	reload(false, "")

	cert, key := ca.server(t)
	replace(t, f.cert, cert)
	reload(false, "private key does not match public key")
	if serial() != first {
		t.Error("half a pair is in use")
	}
	replace(t, f.key, key)
	reload(true, "")
	second := serial()
	if second == first {
		t.Error("the old pair is still in use")
	}
	reload(false, "")

	for name, content := range map[string]string{f.cert: "nonsense", f.key: "", f.ca: "nonsense"} {
		was, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		replace(t, name, []byte(content))
		reload(false, filepath.Base(name))
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		reload(false, "no such file")
		if serial() != second {
			t.Error("a broken file is in use: " + name)
		}
		replace(t, name, was)
		reload(false, "")
	}

	replace(t, f.ca, inPEM(other.cert))
	reload(true, "")
	if _, err := handshake(t, certs.serverConfig(), ours); err == nil {
		t.Error("the old authority's clients still come in")
	}
	if _, err := handshake(t, certs.serverConfig(), forced(ca.trust(), other.client(t))); err != nil {
		t.Error("the new authority's clients do not come in: ", err)
	}
}

// TLS is 1.2 at least; a session of a client that had to show a certificate is
// not resumed, as its authority may have gone since.
func TestTLSVersionAndResumption(t *testing.T) {
	ca := newAuthority(t, "CA")
	f := ca.files(t)
	for _, mutual := range []bool{false, true} {
		s := startServer(t, f.flags(mutual)...)
		for version, want := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
			ours := ca.trust(ca.client(t))
			ours.MinVersion, ours.MaxVersion = version, version
			ours.ClientSessionCache = tls.NewLRUClientSessionCache(1)
			for range 2 {
				c, err := tryDial(s.tlsAddr, ours)
				if (err == nil) != want {
					t.Fatalf("%s: %v", tls.VersionName(version), err)
				}
				if err != nil {
					continue
				}
				c.expect(t, "PING", "+PONG")
				if c.Conn.(*tls.Conn).ConnectionState().DidResume && mutual {
					t.Errorf("%s: resumed", tls.VersionName(version))
				}
				c.Close()
			}
		}
	}
}

// A mistake in the files is logged once until it is another one, or mended.
func TestReloaderLogsOnce(t *testing.T) {
	ca := newAuthority(t, "CA")
	f := ca.files(t)
	certs, err := newCertificates(f.cert, f.key, "")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	r := &reloader{certs: certs, log: slog.New(slog.NewTextHandler(&log, nil))}
	tick := make(chan time.Time)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { r.run(ctx, nil, tick); close(done) }()
	ticks := func(n int) {
		for range n { // the last is taken when the one before it is done with
			tick <- time.Time{}
		}
	}
	good, key := ca.server(t)
	ticks(3)
	replace(t, f.cert, []byte("nonsense"))
	ticks(5)
	replace(t, f.cert, good)
	ticks(5)
	replace(t, f.key, key)
	ticks(5)
	replace(t, f.cert, []byte("nonsense"))
	ticks(5)
	stop()
	<-done
	var got []string
	for line := range strings.Lines(log.String()) {
		_, line, _ = strings.Cut(line, "level=")
		got = append(got, line)
	}
	if len(got) != 4 || !strings.Contains(got[0], "failed to find any PEM data") || !strings.Contains(got[1], "does not match") ||
		!strings.HasPrefix(got[2], `INFO msg="certificates reloaded" not-after=20`) || !strings.Contains(got[3], "failed to find any PEM data") {
		t.Errorf("logged %d lines:\n%s", len(got), log.String())
	}
}

// TestCertificateSwappedUnderLoad replaces the pair, and the authority, while
// clients connect, decide and go. Not one request fails, and those who stay
// connected stay.
func TestCertificateSwappedUnderLoad(t *testing.T) {
	ca := newAuthority(t, "CA")
	f := ca.files(t)
	s := startServer(t, f.flags(true)...)
	ours := ca.trust(ca.client(t))
	stays := dial(t, s.tlsAddr, ours)
	stays.expect(t, "PING", "+PONG")

	const workers = 4
	var (
		load     sync.WaitGroup
		over     = make(chan struct{})
		requests atomic.Int64
		shown    sync.Map // serial numbers
	)
	for range workers {
		load.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				c, err := tryDial(s.tlsAddr, ours)
				if err != nil {
					t.Error(err)
					return
				}
				shown.Store(c.Conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String(), true)
				for range 3 {
					if reply, err := c.try("RL.ALLOW k 1000000 1h"); err != nil || !strings.HasPrefix(reply, "[:1 ") {
						t.Errorf("%s, %v", reply, err)
					}
					requests.Add(1)
				}
				c.Close()
			}
		})
	}
	certificates := func() (seen int) {
		shown.Range(func(any, any) bool { seen++; return true })
		return seen
	}
	const swaps = 3
	for i := range swaps {
		before := certificates()
		cert, key := ca.server(t)
		replace(t, f.cert, cert)
		s.signal(t, syscall.SIGHUP) // it looks at once, and finds half a pair
		s.expectLog(t, "the new certificates cannot be used; the old ones stay")
		replace(t, f.key, key)
		if i > 0 { // the first time it sees it by itself
			s.signal(t, syscall.SIGHUP)
		}
		s.expectLog(t, "certificates reloaded")
		// Somebody connects with the new one before it goes.
		deadline, tick := time.After(10*time.Second), time.NewTicker(time.Millisecond)
		for certificates() == before && !t.Failed() {
			select {
			case <-tick.C:
			case <-deadline:
				t.Error("nobody was shown the new certificate")
			}
		}
		tick.Stop()
	}
	close(over)
	load.Wait()
	stays.expect(t, "RL.ALLOW k 1000000 1h", "[:1 ")
	seen := certificates()
	if seen < swaps || requests.Load() == 0 {
		t.Errorf("%d certificates were seen in %d requests", seen, requests.Load())
	}
	t.Logf("%d requests, %d certificates", requests.Load(), seen)
}

// Handshakes that stop half way end in time, and are told of.
func TestHandshakeTimeout(t *testing.T) {
	ca := newAuthority(t, "CA")
	s := startServer(t, append(ca.files(t).flags(false), "--handshake-timeout", "100ms")...)
	for _, sent := range []string{"", "\x16\x03\x01", "*1\r\n$4\r\nPING\r\n"} {
		begin := time.Now()
		c := dial(t, s.tlsAddr, nil)
		if _, err := c.Write([]byte(sent)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.r.ReadString(0); err == nil {
			t.Errorf("after %q it is still open", sent)
		} else if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after %q it is still open", sent)
		}
		if took := time.Since(begin); took >= server.DefaultConfig().HandshakeTimeout {
			t.Errorf("after %q it took %s", sent, took)
		}
		s.expectLog(t, "TLS handshake failed")
	}
	dial(t, s.tlsAddr, ca.trust()).expect(t, "PING", "+PONG")
}

// HTTP over TLS has the same certificates and rules.
func TestAdminTLS(t *testing.T) {
	ca := newAuthority(t, "CA")
	f := ca.files(t)
	s := startServer(t, append(f.flags(true), "--admin-tls")...)
	for _, test := range []struct {
		name   string
		config *tls.Config
		want   bool
	}{
		{"certificate", ca.trust(ca.client(t)), true},
		{"no certificate", ca.trust(), false},
		{"plain", nil, false},
	} {
		c, err := tryDial(s.atHTTP, test.config)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write([]byte("GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		status, err := c.r.ReadString('\n')
		if got := err == nil && strings.Contains(status, " 200 "); got != test.want {
			t.Errorf("%s: %q, %v", test.name, status, err)
		}
	}
}
