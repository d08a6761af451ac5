package main

import (
	"errors"
	"fmt"
	"net"

	"github.com/rlserver/rlserver/commands"
	"github.com/rlserver/rlserver/resp"
)

// validate reports everything that is wrong, and reads the files of secrets
// and certificates: what is served is what was checked.
func (c *config) validate() error {
	errs := append(c.checkBounds(), c.checkSecrets()...)
	roster, err := c.readRoster()
	if err != nil {
		errs = append(errs, err)
	} else {
		c.roster = roster
	}
	errs = append(errs, c.checkDoors(c.roster.users)...)
	errs = append(errs, c.checkTLS()...)
	errs = append(errs, c.cluster.validate(c.addr)...)
	return errors.Join(errs...)
}

// minMemory is the least that --max-memory may be.
const minMemory bytesValue = 1 << 20

func (c *config) checkBounds() (errs []error) {
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if c.maxMemory < minMemory {
		bad("--max-memory must be at least 1mb, got %s", c.maxMemory.String())
	}
	if c.sweepIdle < 0 {
		bad("--sweep-idle must not be negative, got %s", c.sweepIdle)
	}
	if c.maxKey < 1 || c.maxKey > 64<<10 {
		bad("--max-key must be 1 to 65536 bytes, got %d", c.maxKey)
	}
	if c.maxLog < 1 || c.maxLog > 100_000_000 {
		bad("--max-log must be 1 to 100000000 units, got %d", c.maxLog)
	}
	if c.drainTimeout < 0 {
		bad("--drain-timeout must not be negative, got %s", c.drainTimeout)
	}
	if c.logFormat != "text" && c.logFormat != "json" {
		bad("--log-format must be text or json, got %q", c.logFormat)
	}
	sockets := c.sockets(newClock())
	sockets.Handler = struct{ resp.Handler }{}
	if err := sockets.Validate(); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// checkSecrets looks at what was set, not at what the files hold. An empty
// password that was set is a mistake: a variable that is not there would open
// the server.
func (c *config) checkSecrets() (errs []error) {
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	for _, secret := range []struct {
		flag  string
		value *secretValue
	}{{"password", &c.password}, {"admin-password", &c.adminPassword}} {
		direct, fromFile := c.isSet(secret.flag), c.isSet(secret.flag+"-file")
		if direct && fromFile {
			bad("--%s and --%s-file exclude each other", secret.flag, secret.flag)
		}
		if (direct || fromFile) && c.isSet("acl-file") {
			bad("--%s and --acl-file exclude each other: the file has the passwords of its users", secret.flag)
		}
		if direct {
			if err := checkSecret(string(*secret.value), "--"+secret.flag); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errs
}

// checkDoors says which addresses others can reach though nobody there has to
// say who they are. Redis' protected mode lets such peers connect and turns
// them away; this server does not begin to listen.
func (c *config) checkDoors(users *commands.Users) (errs []error) {
	if c.addr == "" && c.tlsAddr == "" {
		errs = append(errs, errors.New("--addr and --tls-addr are both empty: nobody could connect"))
	}
	mutual := c.tlsCA != ""
	for _, door := range []struct {
		flag, addr, without string
		safe                bool // whoever comes in has shown a certificate
	}{
		{"addr", c.addr, "serve the network on --tls-addr with --tls-ca (client certificates)", false},
		{"tls-addr", c.tlsAddr, "ask for client certificates with --tls-ca", mutual},
		{"admin-addr", c.adminAddr, "ask for client certificates with --admin-tls and --tls-ca", mutual && c.adminTLS},
	} {
		if door.addr == "" {
			continue
		}
		host, _, err := net.SplitHostPort(door.addr)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("--%s %q is no host:port", door.flag, door.addr))
		case !loopback(host) && !door.safe && users != nil && !users.Protected():
			errs = append(errs, fmt.Errorf("--%s %s would be open to the network, and nobody there needs a password: "+
				"set --password-file or --acl-file, or listen on a loopback address such as 127.0.0.1, or %s", door.flag, door.addr, door.without))
		}
	}
	return errs
}

// checkTLS loads the certificates, if there is a door for them.
func (c *config) checkTLS() (errs []error) {
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if c.adminTLS && c.adminAddr == "" {
		bad("--admin-tls needs --admin-addr")
	}
	if c.tlsAddr == "" && !c.adminTLS {
		if c.tlsCert != "" || c.tlsKey != "" || c.tlsCA != "" {
			bad("--tls-cert, --tls-key and --tls-ca need --tls-addr or --admin-tls")
		}
		return errs
	}
	if c.tlsCert == "" || c.tlsKey == "" {
		bad("--tls-addr and --admin-tls need --tls-cert and --tls-key")
		return errs
	}
	certs, err := newCertificates(c.tlsCert, c.tlsKey, c.tlsCA)
	if err != nil {
		return append(errs, err)
	}
	c.certs = certs
	return errs
}

// loopback says whether host can only be reached from this machine.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
