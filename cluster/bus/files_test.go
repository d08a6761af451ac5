package bus

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net/url"
	"testing"
	"time"
)

// authority signs the certificates of a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(tb testing.TB) *authority {
	tb.Helper()
	a := &authority{}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "authority"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	a.pem, a.key = sign(tb, template, nil)
	block, _ := pem.Decode(a.pem)
	var err error
	if a.cert, err = x509.ParseCertificate(block.Bytes); err != nil {
		tb.Fatal(err)
	}
	return a
}

// sign makes a certificate in PEM, by itself where there is no parent, good for
// an hour unless the template says else.
func sign(tb testing.TB, template *x509.Certificate, parent *authority) ([]byte, *ecdsa.PrivateKey) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template.SerialNumber = big.NewInt(1)
	if template.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	}
	issuer, signer := template, key
	if parent != nil {
		issuer, signer = parent.cert, parent.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, &key.PublicKey, signer)
	if err != nil {
		tb.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key
}

// issue makes a certificate of the authority and its key.
func (a *authority) issue(tb testing.TB, template *x509.Certificate) (cert, key []byte) {
	tb.Helper()
	cert, private := sign(tb, template, a)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		tb.Fatal(err)
	}
	return cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func (a *authority) pair(tb testing.TB, template *x509.Certificate) tls.Certificate {
	tb.Helper()
	pair, err := tls.X509KeyPair(a.issue(tb, template))
	if err != nil {
		tb.Fatal(err)
	}
	return pair
}

func (a *authority) credentials(tb testing.TB, template *x509.Certificate) *Credentials {
	tb.Helper()
	cert, key := a.issue(tb, template)
	c, err := FromPEM(cert, key, a.pem, time.Now)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// marking is a template of a node's certificate.
func marking(ou ...string) *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: "node", OrganizationalUnit: ou},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}

func memberCert() *x509.Certificate { return marking("ops", MarkMember) }

func byURI(mark string) *x509.Certificate {
	cert := marking()
	cert.URIs = []*url.URL{{Scheme: "https", Host: "example.com"}, {Scheme: "rlserver", Opaque: mark[len("rlserver:"):]}}
	return cert
}

func TestCertificates(t *testing.T) {
	ca := newAuthority(t)
	for name, test := range map[string]struct {
		cert *x509.Certificate
		lane Lane
		role Role
	}{
		"member by OU":   {memberCert(), LaneRaft, RoleMember},
		"member by URI":  {byURI(MarkMember), LaneRaft, RoleMember},
		"gateway by OU":  {marking(MarkGateway), LaneDecide, RoleGateway},
		"gateway by URI": {byURI(MarkGateway), LaneSubscribe, RoleGateway},
	} {
		t.Run(name, func(t *testing.T) {
			a := start(t, with(ca.credentials(t, memberCert())))
			b := other(t, with(ca.credentials(t, test.cert)))
			dialed, accepted := pair(t, b, a, a.listen(t, test.lane))
			if got := accepted.Peer().Role; got != test.role {
				t.Errorf("the peer is a %s", got)
			}
			exchange(t, dialed, accepted)
			exchange(t, accepted, dialed)
		})
	}
}

// Being signed by the authority is not enough.
func TestCertificatesRefused(t *testing.T) {
	ca := newAuthority(t)
	expired, clientOnly, serverOnly := memberCert(), memberCert(), memberCert()
	expired.NotBefore, expired.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	clientOnly.ExtKeyUsage = clientOnly.ExtKeyUsage[1:]
	serverOnly.ExtKeyUsage = serverOnly.ExtKeyUsage[:1]

	for name, test := range map[string]struct {
		shows   tls.Certificate
		dials   bool // it may dial
		listens bool // it may be dialed
	}{
		"no role":           {shows: ca.pair(t, marking("ops"))},
		"both roles":        {shows: ca.pair(t, marking(MarkMember, MarkGateway))},
		"another authority": {shows: newAuthority(t).pair(t, memberCert())},
		"expired":           {shows: ca.pair(t, expired)},
		"a derived key":     {shows: fromSecrets(t).client.Certificates[0]},
		"for servers only":  {shows: ca.pair(t, serverOnly), listens: true},
		"for clients only":  {shows: ca.pair(t, clientOnly), dials: true},
	} {
		t.Run(name, func(t *testing.T) {
			own := ca.credentials(t, memberCert())
			forged := forge(own, func(c *tls.Config) { c.Certificates = []tls.Certificate{test.shows} })
			forged.server, forged.accepts = byProto(forged.client), own.accepts
			a, b := start(t, with(own)), start(t, with(forged))
			_, err := b.Dial(t.Context(), Target{Addr: a.addr}, LaneRaft)
			if test.dials {
				expectReason(t, err, ReasonUnserved, true)
			} else {
				if !errors.Is(err, ErrRefusedTLS) {
					t.Errorf("it dials: got %v, want %v", err, ErrRefusedTLS)
				}
				expectRefused(t, a, ReasonTLS)
			}
			_, err = a.Dial(t.Context(), Target{Addr: b.addr}, LaneRaft)
			if test.listens {
				expectReason(t, err, ReasonUnserved, true)
			} else if !errors.Is(err, ErrStranger) {
				t.Errorf("it is dialed: got %v, want %v", err, ErrStranger)
			}
		})
	}
}

// Who holds a gateway's certificate does not pass for a member.
func TestGatewayListens(t *testing.T) {
	ca := newAuthority(t)
	gateway := ca.credentials(t, marking(MarkGateway))
	gateway.server, gateway.accepts = byProto(gateway.client), pinned(nil, "", 0)
	a, b := start(t, with(gateway)), other(t, with(ca.credentials(t, memberCert())))
	if _, err := b.Dial(t.Context(), Target{Addr: a.addr}, LaneDecide); !errors.Is(err, ErrStranger) {
		t.Errorf("got %v, want %v", err, ErrStranger)
	}
}

// Chains are checked at the time that was handed in.
func TestCertificateClock(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.issue(t, memberCert())
	later, err := FromPEM(cert, key, ca.pem, func() time.Time { return time.Now().Add(2 * time.Hour) })
	if err != nil {
		t.Fatal(err)
	}
	a, b := start(t, with(later)), start(t, with(ca.credentials(t, memberCert())))
	if _, err := b.Dial(t.Context(), Target{Addr: a.addr}, LaneRaft); !errors.Is(err, ErrRefusedTLS) {
		t.Errorf("dialed by whoever is expired: got %v, want %v", err, ErrRefusedTLS)
	}
	if _, err := a.Dial(t.Context(), Target{Addr: b.addr}, LaneRaft); !errors.Is(err, ErrStranger) {
		t.Errorf("dialing whoever is expired: got %v, want %v", err, ErrStranger)
	}
}

func TestFromPEM(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.issue(t, memberCert())
	plain, plainKey := ca.issue(t, marking("ops"))
	both, bothKey := ca.issue(t, marking(MarkMember, MarkGateway))
	for name, pems := range map[string][3][]byte{
		"no certificate":  {nil, key, ca.pem},
		"another key":     {cert, plainKey, ca.pem},
		"no authority":    {cert, key, nil},
		"a key as one":    {cert, key, key},
		"without a role":  {plain, plainKey, ca.pem},
		"with both roles": {both, bothKey, ca.pem},
	} {
		if _, err := FromPEM(pems[0], pems[1], pems[2], time.Now); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := FromPEM(cert, key, ca.pem, time.Now); err != nil {
		t.Error(err)
	}
}
