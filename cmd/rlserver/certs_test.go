package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{}
	a.cert, a.key = a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

// sign signs a certificate, with its own key if there is no authority yet.
func (a *authority) sign(t *testing.T, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		t.Fatal(err)
	}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// server is a pair for 127.0.0.1 and localhost; client one for clients.
func (a *authority) server(t *testing.T) (cert, key []byte) {
	t.Helper()
	return pair(t, a, &x509.Certificate{
		Subject: pkix.Name{CommonName: "server"}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

func (a *authority) client(t *testing.T) tls.Certificate {
	t.Helper()
	cert, key := pair(t, a, &x509.Certificate{
		Subject:  pkix.Name{CommonName: "client"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	both, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return both
}

func pair(t *testing.T, a *authority, template *x509.Certificate) (cert, key []byte) {
	t.Helper()
	signed, private := a.sign(t, template)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return inPEM(signed), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func inPEM(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
}

// trust is what a client of servers of this authority needs, with the client's
// own certificates.
func (a *authority) trust(own ...tls.Certificate) *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return &tls.Config{RootCAs: roots, ServerName: "localhost", Certificates: own}
}

// tlsFiles are what --tls-cert, --tls-key and --tls-ca name.
type tlsFiles struct{ cert, key, ca string }

// files writes a pair for a server, and this authority.
func (a *authority) files(t *testing.T) tlsFiles {
	t.Helper()
	dir := t.TempDir()
	f := tlsFiles{filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key"), filepath.Join(dir, "ca.crt")}
	cert, key := a.server(t)
	replace(t, f.cert, cert)
	replace(t, f.key, key)
	replace(t, f.ca, inPEM(a.cert))
	return f
}

// flags are those of a server; mutual asks for client certificates.
func (f tlsFiles) flags(mutual bool) []string {
	flags := []string{"--tls-addr", "127.0.0.1:0", "--tls-cert", f.cert, "--tls-key", f.key}
	if mutual {
		flags = append(flags, "--tls-ca", f.ca)
	}
	return flags
}

// replace replaces a file as operators should: all at once.
func replace(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}
