// Package server owns sockets: it accepts connections and moves bytes between
// them and sessions, one goroutine a connection.
package server

import (
	"errors"
	"fmt"
	"time"

	"github.com/rlserver/rlserver/resp"
)

// Config is what a Server needs.
type Config struct {
	Handler resp.Handler
	Now     func() int64 // Unix nanoseconds that never go back; read once per batch
	// Deadline is the system's time so far from now, for the deadlines of
	// sockets. It is asked some times a second at most for each connection.
	Deadline func(from time.Duration) time.Time
	Limits   resp.Limits
	Events   Events

	Tuning

	HandshakeTimeout time.Duration // of TLS
	KeepAlive        time.Duration // after which a silent TCP peer is probed; 0: as the listener has it
}

// Tuning is what Tune can change while a Server serves.
type Tuning struct {
	MaxClients        int           // connections at once
	MaxClientsPerAddr int           // of one address, before authentication; 0: no bound
	IdleTimeout       time.Duration // between what a client sends; 0: none
	CommandTimeout    time.Duration // from a command's first byte to its last
	WriteTimeout      time.Duration // for a client to take its replies; up to twice that
}

// DefaultConfig lacks only Handler, Now and Deadline. Idle connections are
// kept, as Redis does: connection pools are idle most of the time.
func DefaultConfig() Config {
	return Config{
		Limits: resp.DefaultLimits(),
		Tuning: Tuning{
			MaxClients:     10_000,
			CommandTimeout: 10 * time.Second,
			WriteTimeout:   5 * time.Second,
		},
		HandshakeTimeout: 5 * time.Second,
		KeepAlive:        5 * time.Minute, // Redis' own
	}
}

// Validate reports everything that is missing or out of range.
func (c *Config) Validate() error {
	var errs []error
	if c.Handler == nil {
		errs = append(errs, errors.New("no handler"))
	}
	if c.Now == nil {
		errs = append(errs, errors.New("no clock"))
	}
	if c.Deadline == nil {
		errs = append(errs, errors.New("no source of deadlines"))
	}
	if err := c.Limits.Validate(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, c.Tuning.Validate(),
		atLeast("handshake timeout", c.HandshakeTimeout, 1),
		atLeast("keep-alive", c.KeepAlive, 0))...)
}

// Validate reports everything that is out of range.
func (t *Tuning) Validate() error {
	return errors.Join(
		atLeast("max clients", t.MaxClients, 1),
		atLeast("max clients per address", t.MaxClientsPerAddr, 0),
		atLeast("idle timeout", t.IdleTimeout, 0),
		atLeast("command timeout", t.CommandTimeout, 1),
		atLeast("write timeout", t.WriteTimeout, 1),
	)
}

func atLeast[T int | time.Duration](name string, value, least T) error {
	if value >= least {
		return nil
	}
	return fmt.Errorf("%s must be at least %v, got %v", name, least, value)
}

// Reason says why a connection was refused or closed. The set is fixed, so it
// can label a metric.
type Reason string

// The reasons.
const (
	ReasonPeer      Reason = "peer"      // the client went
	ReasonQuit      Reason = "quit"      // QUIT, or a CLIENT KILL of itself
	ReasonProtocol  Reason = "protocol"  // it does not speak the protocol, or is over a bound
	ReasonStranger  Reason = "stranger"  // it is over a bound of those who have not authenticated
	ReasonPanic     Reason = "panic"     // a handler panicked
	ReasonIdle      Reason = "idle"      // it asked nothing for too long
	ReasonCommand   Reason = "command"   // a command took too long to arrive
	ReasonWrite     Reason = "write"     // it did not take its replies
	ReasonHandshake Reason = "handshake" // TLS failed or took too long
	ReasonKilled    Reason = "killed"    // CLIENT KILL
	ReasonShutdown  Reason = "shutdown"  // the server stops
	ReasonClients   Reason = "clients"   // refused: too many
	ReasonPerAddr   Reason = "per_addr"  // refused: too many of one address
	ReasonAccept    Reason = "accept"    // the system could not accept
)

// Events reports what happens to connections. Fields may be nil; they are
// called from many goroutines.
type Events struct {
	Opened  func(resp.ClientInfo)
	Closed  func(resp.ClientInfo, Reason)
	Refused func(addr string, why Reason)
	// Handshake: TLS failed, as err says, or took longer than HandshakeTimeout.
	Handshake func(addr string, err error)
	Accept    func(err error)                                     // a failed accept; it is tried again
	Panic     func(peer resp.ClientInfo, value any, stack []byte) // peer.Failed is the command
}
