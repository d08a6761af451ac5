package server_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlserver/rlserver/resp"
	"github.com/rlserver/rlserver/resp/server"
)

// Pipelines over real sockets, whose replies come from other goroutines, are
// answered in order.
func TestDeferred(t *testing.T) {
	f := start(t)
	const clients, batches, depth = 4, 20, 64
	for i := range clients {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			p := f.dial(t)
			for b := range batches {
				var in, out strings.Builder
				for d := range depth {
					word := fmt.Sprintf("%d-%d-%d", i, b, d)
					fmt.Fprintf(&in, "ELSEWHERE %s\r\n%s", word, ping)
					fmt.Fprintf(&out, "+%s\r\n+PONG\r\n", word)
				}
				p.ask(in.String(), out.String())
			}
		})
	}
}

// hold sends a pipeline of two deferred commands, and sees both begin.
func (p *peer) hold(f *fixture) {
	p.t.Helper()
	p.send("PING\r\nLATER a\r\nPING\r\nLATER b\r\n")
	<-f.handler.held
	<-f.handler.held
}

const held = "+PONG\r\n+a\r\n+PONG\r\n+b\r\n"

// All that was deferred begins before anything is answered. However long it
// takes, that is not the client's fault: it is not idle, nor is its next
// command late.
func TestDeferredLong(t *testing.T) {
	inTime(t, func(t *testing.T, f *fixture, ln *pipes) {
		p, other := ln.dial(t), ln.dial(t)
		p.send("*1\r\n")
		p.send("$4\r\nPING\r\nLATER a\r\nPING\r\nLATER b\r\nPI")
		<-f.handler.held
		<-f.handler.held
		other.ask(ping, "+PONG\r\n")
		<-time.After(time.Hour)
		f.handler.release()
		p.expect(held)
		p.ask("NG\r\n", "+PONG\r\n")
	}, func(c *server.Config) { c.IdleTimeout = time.Minute })
}

// What is waited for when the server stops is answered.
func TestDeferredShutdown(t *testing.T) {
	inTime(t, func(t *testing.T, f *fixture, ln *pipes) {
		p := ln.dial(t)
		p.hold(f)
		done := f.shutdown(time.Minute)
		synctest.Wait()
		<-time.After(10 * time.Second)
		f.handler.release()
		p.expect(held)
		p.expectEnd()
		expectNext(t, done, nil)
		expectNext(t, f.closed, server.ReasonShutdown)
	})
}

// Who waits when the time to stop is over, or is killed, is cut; a wake that
// comes then does nothing.
func TestDeferredCut(t *testing.T) {
	inTime(t, func(t *testing.T, f *fixture, ln *pipes) {
		killed, cut := ln.dial(t), ln.dial(t)
		killed.hold(f)
		cut.hold(f)
		if n := f.Kill(func(info resp.ClientInfo) bool { return info.ID == 1 }); n != 1 {
			t.Errorf("killed %d", n)
		}
		killed.expectEnd()
		expectNext(t, f.closed, server.ReasonKilled)
		if err := next(t, f.shutdown(time.Second)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown: %v", err)
		}
		cut.expectEnd()
		expectNext(t, f.closed, server.ReasonKilled)
		f.handler.release()
	})
}

// A peer that is gone, or does not read, is noticed when it is answered.
func TestDeferredUnread(t *testing.T) {
	inTime(t, func(t *testing.T, f *fixture, ln *pipes) {
		gone, deaf := ln.dial(t), ln.dial(t)
		gone.hold(f)
		gone.Close()
		f.handler.release()
		expectNext(t, f.closed, server.ReasonPeer)
		deaf.hold(f)
		<-time.After(time.Hour)
		f.handler.release()
		begin := time.Now()
		expectNext(t, f.closed, server.ReasonWrite)
		if took := time.Since(begin); took < f.cfg.WriteTimeout || took > 2*f.cfg.WriteTimeout {
			t.Errorf("took %s", took)
		}
	}, func(c *server.Config) { c.WriteTimeout = time.Second })
}
