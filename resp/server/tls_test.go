package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlserver/rlserver/resp"
	"github.com/rlserver/rlserver/resp/server"
)

func TestTLS(t *testing.T) {
	f := newFixture(t)
	ln := listen(t)
	theirs, ours := certificate(t)
	f.serve(t, tls.NewListener(ln, theirs))
	f.addr = ln.Addr().String()

	p := f.dialTLS(t, ours)
	p.ask(ping+"ECHO a\r\n", "+PONG\r\n$1\r\na\r\n")
	p.ask("QUIT\r\n", "+OK\r\n")
	p.expectEnd()
	expectNext(t, f.closed, server.ReasonQuit)
}

// dialTLS connects and makes the handshake.
func (f *fixture) dialTLS(t *testing.T, cfg *tls.Config) *peer {
	t.Helper()
	plain := f.dial(t)
	c := tls.Client(plain.Conn, cfg)
	if err := c.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return newPeer(t, c)
}

// tlsInTime is inTime for TLS.
func tlsInTime(t *testing.T, test func(*testing.T, *fixture, *pipes, *tls.Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		theirs, ours := certificate(t)
		f, ln := newFixture(t, func(c *server.Config) { c.MaxClients = 2 }), newPipes()
		f.serve(t, tls.NewListener(ln, theirs))
		test(t, f, ln, ours)
	})
}

// secure makes the handshake of a connection.
func (p *peer) secure(t *testing.T, cfg *tls.Config) *peer {
	t.Helper()
	c := tls.Client(p.Conn, cfg)
	if err := c.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return newPeer(t, c)
}

// A peer that connects and does not go on with the handshake is cut.
func TestHandshakeTimeout(t *testing.T) {
	tlsInTime(t, func(t *testing.T, f *fixture, ln *pipes, _ *tls.Config) {
		p := ln.dial(t)
		f.expectAfter(t, p, time.Now(), 5*time.Second, 5*time.Second, server.ReasonHandshake)
	})
}

// A peer that speaks no TLS is cut.
func TestNoHandshake(t *testing.T) {
	type failure struct {
		addr string
		err  error
	}
	failed := make(chan failure, 1)
	f := newFixture(t, func(c *server.Config) {
		c.Events.Handshake = func(addr string, err error) { failed <- failure{addr, err} }
	})
	ln := listen(t)
	theirs, _ := certificate(t)
	f.serve(t, tls.NewListener(ln, theirs))
	f.addr = ln.Addr().String()
	p := f.dial(t)
	p.send(ping)
	expectNext(t, f.closed, server.ReasonHandshake)
	got := next(t, failed)
	var noTLS tls.RecordHeaderError
	if got.addr != p.LocalAddr().String() || !errors.As(got.err, &noTLS) {
		t.Errorf("reported %v", got)
	}
}

// A refused peer gets no words, since there was no handshake: accepting goes on
// at once, whatever that peer does.
func TestRefuseTLS(t *testing.T) {
	tlsInTime(t, func(t *testing.T, f *fixture, ln *pipes, ours *tls.Config) {
		first := ln.dial(t).secure(t, ours)
		second := ln.dial(t).secure(t, ours)
		begin := time.Now()
		refused := ln.dial(t)
		refused.expectEnd()
		expectNext(t, f.refused, server.ReasonClients)
		if took := time.Since(begin); took != 0 {
			t.Errorf("took %s", took)
		}
		first.ask(ping, "+PONG\r\n")
		second.ask(ping, "+PONG\r\n")
	})
}

// Deadlines of reads that pass, as they do all the time, leave a TLS connection
// whole, also in the middle of a record.
func TestTLSHalts(t *testing.T) {
	tlsInTime(t, func(t *testing.T, _ *fixture, ln *pipes, ours *tls.Config) {
		h := &halting{Conn: ln.dial(t).Conn}
		p := newPeer(t, h).secure(t, ours)
		h.pause = 3 * time.Second
		for range 5 {
			p.ask("BIG 4000\r\n", "$4000\r\n")
			if _, err := p.r.Discard(4002); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// halting sends in halves.
type halting struct {
	net.Conn

	pause time.Duration
}

func (h *halting) Write(b []byte) (int, error) {
	n, err := h.Conn.Write(b[:len(b)/2])
	if err != nil {
		return n, err
	}
	<-time.After(h.pause)
	m, err := h.Conn.Write(b[n:])
	return n + m, err
}

// Who is cut under TLS is cut at once: nobody waits to say farewell to a peer
// that does not read.
func TestKillTLS(t *testing.T) {
	tlsInTime(t, func(t *testing.T, f *fixture, ln *pipes, ours *tls.Config) {
		idle, deaf := ln.dial(t).secure(t, ours), ln.dial(t).secure(t, ours)
		idle.ask(ping, "+PONG\r\n")
		deaf.send(ping)
		synctest.Wait()
		begin := time.Now()
		if n := f.Kill(func(resp.ClientInfo) bool { return true }); n != 2 {
			t.Errorf("killed %d", n)
		}
		expectNext(t, f.closed, server.ReasonKilled)
		expectNext(t, f.closed, server.ReasonKilled)
		if took := time.Since(begin); took != 0 {
			t.Errorf("took %s", took)
		}
	})
}

// certificate makes configurations of a server and of a client that trusts it.
func certificate(t *testing.T) (theirs, ours *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		DNSNames:     []string{"server.test"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	theirs = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	ours = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool, ServerName: "server.test"}
	return theirs, ours
}
