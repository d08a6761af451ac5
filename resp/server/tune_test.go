package server_test

import (
	"crypto/tls"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlserver/rlserver/resp/server"
)

// retune changes what a server is tuned to.
func (f *fixture) retune(t *testing.T, change func(*server.Tuning)) {
	t.Helper()
	tuning := f.cfg.Tuning
	change(&tuning)
	if err := f.Tune(tuning); err != nil {
		t.Fatal(err)
	}
}

// A timeout counts for connections that exist: a shorter one ends them, a
// longer one lets them be.
func TestTuneIdleTimeout(t *testing.T) {
	inTime(t, func(t *testing.T, f *fixture, ln *pipes) {
		quiet, other := ln.dial(t), ln.dial(t)
		other.ask(ping, "+PONG\r\n")
		<-time.After(30 * time.Second)
		f.retune(t, func(c *server.Tuning) { c.IdleTimeout = time.Hour })
		<-time.After(40 * time.Minute)
		begin := time.Now()
		other.ask(ping, "+PONG\r\n")
		f.retune(t, func(c *server.Tuning) { c.IdleTimeout = 10 * time.Minute })
		f.expectAfter(t, quiet, begin, 0, 0, server.ReasonIdle)
		f.expectAfter(t, other, begin, 10*time.Minute, 10*time.Minute, server.ReasonIdle)

		last := ln.dial(t)
		f.retune(t, func(c *server.Tuning) { c.IdleTimeout = 0 })
		<-time.After(1000 * time.Hour)
		last.ask(ping, "+PONG\r\n")
	}, func(c *server.Config) { c.IdleTimeout = time.Minute })
}

func TestTuneCommandTimeout(t *testing.T) {
	inTime(t, func(t *testing.T, f *fixture, ln *pipes) {
		first, second := ln.dial(t), ln.dial(t)
		begin := time.Now()
		first.send("PIN")
		<-time.After(5 * time.Second)
		second.send("PIN")
		f.retune(t, func(c *server.Tuning) { c.CommandTimeout = 20 * time.Second })
		f.expectAfter(t, first, begin, 20*time.Second, 20*time.Second, server.ReasonCommand)
		f.retune(t, func(c *server.Tuning) { c.CommandTimeout = 17 * time.Second })
		f.expectAfter(t, second, begin, 22*time.Second, 22*time.Second, server.ReasonCommand)
	})
}

// The time of a write counts from the next one on.
func TestTuneWriteTimeout(t *testing.T) {
	inTime(t, func(t *testing.T, f *fixture, ln *pipes) {
		p := ln.dial(t)
		p.ask(ping, "+PONG\r\n") // a deadline of an hour or two is set
		f.retune(t, func(c *server.Tuning) { c.WriteTimeout = time.Second })
		begin := time.Now()
		p.send(ping)
		expectNext(t, f.closed, server.ReasonWrite)
		if took := time.Since(begin); took < time.Second || took > 2*time.Second {
			t.Errorf("cut after %s", took)
		}
		p.expectEnd()
	}, func(c *server.Config) { c.WriteTimeout = time.Hour })
}

// Those who are in stay; others come in again when there is room.
func TestTuneMaxClients(t *testing.T) {
	f := start(t)
	first, second := f.dial(t), f.dial(t)
	first.ask(ping, "+PONG\r\n")
	second.ask(ping, "+PONG\r\n")
	f.retune(t, func(c *server.Tuning) { c.MaxClients = 1 })
	refused := f.dial(t)
	refused.expect(tooMany)
	refused.expectEnd()
	expectNext(t, f.refused, server.ReasonClients)
	first.ask(ping, "+PONG\r\n")
	second.ask(ping, "+PONG\r\n")
	f.retune(t, func(c *server.Tuning) { c.MaxClients = 3 })
	f.dial(t).ask(ping, "+PONG\r\n")
}

// Strangers that came before the bound did count.
func TestTuneMaxClientsPerAddr(t *testing.T) {
	f := start(t, func(c *server.Config) { c.Handler.(*handler).password = true })
	first, second := f.dial(t), f.dial(t)
	first.ask(ping, "+PONG\r\n")
	second.ask(ping, "+PONG\r\n")
	f.retune(t, func(c *server.Tuning) { c.MaxClientsPerAddr = 2 })
	refused := f.dial(t)
	refused.expect(tooMany)
	refused.expectEnd()
	expectNext(t, f.refused, server.ReasonPerAddr)
	f.retune(t, func(c *server.Tuning) { c.MaxClientsPerAddr = 0 })
	f.dial(t).ask(ping, "+PONG\r\n")
}

// A handshake is not disturbed.
func TestTuneDuringHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		theirs, ours := certificate(t)
		f, ln := newFixture(t), newPipes()
		f.serve(t, tls.NewListener(ln, theirs))
		p := ln.dial(t)
		synctest.Wait()
		f.retune(t, func(c *server.Tuning) { c.IdleTimeout = time.Minute })
		p = p.secure(t, ours)
		p.ask(ping, "+PONG\r\n")
		f.expectAfter(t, p, time.Now(), time.Minute, time.Minute, server.ReasonIdle)
	})
}

// What is out of range changes nothing.
func TestTuneRefuses(t *testing.T) {
	f := start(t)
	err := f.Tune(server.Tuning{IdleTimeout: -1, MaxClientsPerAddr: -1})
	if err == nil {
		t.Fatal("all is accepted")
	}
	for _, name := range []string{"max clients must", "max clients per address", "idle timeout", "command timeout", "write timeout"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q is not reported: %v", name, err)
		}
	}
	f.dial(t).ask(ping, "+PONG\r\n")
}
