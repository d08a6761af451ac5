package bus

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// MinSecret is the shortest secret, in bytes. The bytes must be random: a
// stranger who connects sees the key that is derived from them, and can try
// guesses at home.
const MinSecret = 16

// What the keys are derived for. The keys of a gateway's connection differ by
// direction, so that a gateway cannot pass for a member to who holds the
// cluster's secret.
const (
	keyMember          = "rlserver bus 1 member"
	keyGateway         = "rlserver bus 1 gateway"
	keyMemberToGateway = "rlserver bus 1 member to gateway"
)

// FromSecrets makes the credentials of a member: every node with the same
// cluster secret is one. Gateways are accepted by their own secret, or not at
// all where it is empty. It fails where a secret is shorter than MinSecret, or
// where both are the same.
func FromSecrets(cluster, gateway []byte) (*Credentials, error) {
	if err := checkSecret("cluster", cluster); err != nil {
		return nil, err
	}
	own, key, err := derive(cluster, keyMember)
	if err != nil {
		return nil, err
	}
	member := pinned(key, protoMember, RoleMember)
	c := &Credentials{
		role:    RoleMember,
		server:  config(own, protoMember, member),
		client:  config(own, protoMember, member),
		accepts: member,
	}
	if len(gateway) == 0 {
		c.server = byProto(c.server)
		return c, nil
	}
	if err := checkSecret("gateway", gateway); err != nil {
		return nil, err
	}
	if bytes.Equal(cluster, gateway) {
		return nil, errors.New("bus: the gateway secret must differ from the cluster secret: who knows that one is a member")
	}
	facing, _, err := derive(gateway, keyMemberToGateway)
	if err != nil {
		return nil, err
	}
	_, key, err = derive(gateway, keyGateway)
	if err != nil {
		return nil, err
	}
	sidecar := pinned(key, protoGateway, RoleGateway)
	c.server = byProto(c.server, config(facing, protoGateway, sidecar))
	c.accepts = either(member, sidecar)
	return c, nil
}

// FromGatewaySecret makes the credentials of a gateway, which accepts nobody.
// Whoever holds a gateway secret could pass for a member to other gateways, not
// to members. It fails where the secret is shorter than MinSecret.
func FromGatewaySecret(gateway []byte) (*Credentials, error) {
	if err := checkSecret("gateway", gateway); err != nil {
		return nil, err
	}
	own, _, err := derive(gateway, keyGateway)
	if err != nil {
		return nil, err
	}
	_, key, err := derive(gateway, keyMemberToGateway)
	if err != nil {
		return nil, err
	}
	return &Credentials{
		role:   RoleGateway,
		client: config(own, protoGateway, pinned(key, protoGateway, RoleMember)),
	}, nil
}

func checkSecret(name string, secret []byte) error {
	if len(secret) < MinSecret {
		return fmt.Errorf("bus: the %s secret must have at least %d bytes, got %d", name, MinSecret, len(secret))
	}
	return nil
}

// derive makes a key for one purpose of a secret, and a certificate that
// carries it. TLS needs the certificate; nothing in it but the key is looked
// at, so its dates are those that never matter.
func derive(secret []byte, purpose string) (tls.Certificate, ed25519.PublicKey, error) {
	seed, err := hkdf.Key(sha256.New, secret, nil, purpose, ed25519.SeedSize)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	private := ed25519.NewKeyFromSeed(seed)
	public, ok := private.Public().(ed25519.PublicKey)
	if !ok {
		return tls.Certificate{}, nil, errors.New("bus: an Ed25519 key without a public key")
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "rlserver bus"},
		NotBefore:    time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("bus: the certificate of a derived key: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, public, nil
}
