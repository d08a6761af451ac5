package bus

import (
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"slices"
)

// Errors of a TLS handshake. They do not say more: who is refused must not
// learn why from the wire.
var (
	// ErrStranger means that the peer could not prove a role in this cluster: it
	// has another secret, or a certificate without a role.
	ErrStranger = errors.New("bus: the peer has another cluster secret, or a certificate without a role")
	// ErrRefusedTLS means that the peer ended the handshake: to it, this node is
	// the stranger.
	ErrRefusedTLS = errors.New("bus: the peer does not accept this node's secret or certificate")
)

// The protocols in the TLS handshake (ALPN). The dialer's choice tells the
// listener which key to show; a peer that offers neither is not of this bus.
const (
	protoMember  = "rlserver-bus"
	protoGateway = "rlserver-gateway"
)

// Credentials are what a node proves its role with, and what it accepts from
// others. They are immutable and may be used by many connections at once.
type Credentials struct {
	role    Role
	server  *tls.Config // nil: nobody is accepted
	client  *tls.Config
	accepts prove // of who connects
}

// Role is what this node proves.
func (c *Credentials) Role() Role { return c.role }

// prove tells the role of a peer, or ErrStranger.
type prove func(tls.ConnectionState) (Role, error)

// config is what all of the bus' TLS has in common. The certificate is checked
// by proof alone, on both sides and for resumed sessions too (there are none).
func config(own tls.Certificate, proto string, proof prove) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{own},
		NextProtos:   []string{proto},
		ClientAuth:   tls.RequireAnyClientCert,
		// Names and chains say nothing here: VerifyConnection checks the key, or
		// the chain and the role in it.
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			_, err := proof(state)
			return err
		},
		MinVersion:             tls.VersionTLS13,
		SessionTicketsDisabled: true,
	}
}

// pinned accepts who has the key, with the role.
func pinned(key ed25519.PublicKey, proto string, role Role) prove {
	return func(state tls.ConnectionState) (Role, error) {
		if state.NegotiatedProtocol != proto || len(state.PeerCertificates) == 0 {
			return 0, ErrStranger
		}
		theirs, ok := state.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
		if !ok || !key.Equal(theirs) { // Equal takes constant time
			return 0, ErrStranger
		}
		return role, nil
	}
}

// byProto answers each dialer with the configuration of the protocol that it
// offers.
func byProto(configs ...*tls.Config) *tls.Config {
	first := configs[0].Clone()
	first.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		for _, c := range configs {
			if slices.Contains(hello.SupportedProtos, c.NextProtos[0]) {
				return c, nil
			}
		}
		return nil, ErrStranger
	}
	return first
}

// either accepts what one of the proofs accepts.
func either(proofs ...prove) prove {
	return func(state tls.ConnectionState) (Role, error) {
		for _, proof := range proofs {
			if role, err := proof(state); err == nil {
				return role, nil
			}
		}
		return 0, ErrStranger
	}
}
