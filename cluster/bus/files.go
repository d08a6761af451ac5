package bus

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"
)

// The roles as an operator's certificates state them: an organizational unit,
// or a URI among the alternative names.
const (
	MarkMember  = "rlserver:member"
	MarkGateway = "rlserver:gateway"
)

// FromPEM makes credentials of an operator's certificate, its key and the
// authorities that sign the certificates of all nodes, each in PEM. The role of
// a node is the mark in its certificate; one without a mark is a stranger, so
// other uses of the same authority stay out. Chains are checked at now, and
// must be good for a server where the peer was dialed, for a client where it
// has dialed.
func FromPEM(certificate, key, authorities []byte, now func() time.Time) (*Credentials, error) {
	own, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("bus: the certificate and its key: %w", err)
	}
	leaf, err := x509.ParseCertificate(own.Certificate[0])
	if err != nil {
		return nil, fmt.Errorf("bus: the certificate: %w", err)
	}
	role, err := marked(leaf)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authorities) {
		return nil, errors.New("bus: no certificate among the authorities")
	}
	dialed := chained(roots, now, x509.ExtKeyUsageServerAuth, RoleMember)
	c := &Credentials{role: role, client: config(own, protoMember, dialed)}
	if role == RoleMember {
		c.accepts = chained(roots, now, x509.ExtKeyUsageClientAuth, RoleMember, RoleGateway)
		c.server = byProto(config(own, protoMember, c.accepts))
	}
	return c, nil
}

// marked is the role that a certificate states, once.
func marked(cert *x509.Certificate) (Role, error) {
	marks := slices.Clone(cert.Subject.OrganizationalUnit)
	for _, uri := range cert.URIs {
		marks = append(marks, uri.String())
	}
	member, gateway := slices.Contains(marks, MarkMember), slices.Contains(marks, MarkGateway)
	switch {
	case member && gateway:
		return 0, fmt.Errorf("bus: the certificate states both %s and %s", MarkMember, MarkGateway)
	case member:
		return RoleMember, nil
	case gateway:
		return RoleGateway, nil
	}
	return 0, fmt.Errorf("bus: the certificate states no role: it needs %s or %s as OU or as URI", MarkMember, MarkGateway)
}

// chained accepts who has a certificate of one of the roots, for the use and
// with one of the roles.
func chained(roots *x509.CertPool, now func() time.Time, use x509.ExtKeyUsage, roles ...Role) prove {
	return func(state tls.ConnectionState) (Role, error) {
		if state.NegotiatedProtocol != protoMember || len(state.PeerCertificates) == 0 {
			return 0, ErrStranger
		}
		between := x509.NewCertPool()
		for _, cert := range state.PeerCertificates[1:] {
			between.AddCert(cert)
		}
		leaf := state.PeerCertificates[0]
		_, err := leaf.Verify(x509.VerifyOptions{
			Roots:         roots,
			Intermediates: between,
			CurrentTime:   now(),
			KeyUsages:     []x509.ExtKeyUsage{use},
		})
		if err != nil {
			return 0, fmt.Errorf("%w: %w", ErrStranger, err)
		}
		role, err := marked(leaf)
		if err != nil || !slices.Contains(roles, role) {
			return 0, errors.Join(ErrStranger, err)
		}
		return role, nil
	}
}
