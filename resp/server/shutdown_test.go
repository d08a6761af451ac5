package server_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlserver/rlserver/resp"
	"github.com/rlserver/rlserver/resp/server"
)

// shutdown calls Shutdown with some time to do it in.
func (f *fixture) shutdown(within time.Duration) chan error {
	done := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		done <- f.Shutdown(ctx)
	}()
	return done
}

func TestShutdownIdle(t *testing.T) {
	inTime(t, func(t *testing.T, f *fixture, ln *pipes) {
		fresh, used, busy := ln.dial(t), ln.dial(t), ln.dial(t)
		used.ask(ping, "+PONG\r\n")
		busy.send("*1\r\n$4\r\nPI")
		begin := time.Now()
		expectNext(t, f.shutdown(time.Minute), nil)
		for _, p := range []*peer{fresh, used, busy} {
			p.expectEnd()
			expectNext(t, f.closed, server.ReasonShutdown)
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("took %s", took)
		}
	})
}

// What has arrived, or is on its way, is answered.
func TestShutdownAnswers(t *testing.T) {
	inTime(t, func(t *testing.T, f *fixture, ln *pipes) {
		p := ln.dial(t)
		p.send(ping + "HOLD\r\n" + ping)
		<-f.handler.held
		p.expect("+PONG\r\n")
		done := f.shutdown(time.Minute)
		synctest.Wait()
		<-time.After(10 * time.Second)
		f.handler.release()
		p.expect("+RELEASED\r\n+PONG\r\n")
		p.ask(ping, "+PONG\r\n")
		p.expectEnd()
		expectNext(t, done, nil)
		expectNext(t, f.closed, server.ReasonShutdown)
	})
}

// A client that goes on and on does not keep the server.
func TestShutdownChatter(t *testing.T) {
	inTime(t, func(t *testing.T, f *fixture, ln *pipes) {
		p := ln.dial(t)
		p.ask(ping, "+PONG\r\n")
		begin := time.Now()
		done := f.shutdown(time.Minute)
		for {
			if _, err := p.Write([]byte(ping)); err != nil {
				break
			}
			p.expect("+PONG\r\n")
			<-time.After(time.Millisecond)
		}
		expectNext(t, done, nil)
		if took := time.Since(begin); took > time.Second {
			t.Errorf("took %s", took)
		}
	})
}

// Who waits, or does not read, is cut when the time is over.
func TestShutdownCuts(t *testing.T) {
	inTime(t, func(t *testing.T, f *fixture, ln *pipes) {
		waits, deaf := ln.dial(t), ln.dial(t)
		waits.send("HOLD\r\n")
		<-f.handler.held
		deaf.send(ping)
		synctest.Wait()
		begin := time.Now()
		if err := next(t, f.shutdown(time.Second)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown: %v", err)
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("took %s", took)
		}
		waits.expectEnd()
		deaf.expectEnd()
		expectNext(t, f.closed, server.ReasonKilled)
		expectNext(t, f.closed, server.ReasonKilled)
		f.handler.release() // nobody is there to be woken
	})
}

// A command that does not end does not keep Shutdown.
func TestShutdownStuck(t *testing.T) {
	inTime(t, func(t *testing.T, f *fixture, ln *pipes) {
		p := ln.dial(t)
		p.send("BLOCK\r\n")
		<-f.handler.held
		begin := time.Now()
		if err := next(t, f.shutdown(time.Second)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown: %v", err)
		}
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("took %s", took)
		}
		close(f.handler.unblock)
		p.expectEnd()
		expectNext(t, f.closed, server.ReasonKilled)
	})
}

// Shutdown can be called twice, and by two.
func TestShutdownTwice(t *testing.T) {
	f := start(t)
	f.dial(t).ask(ping, "+PONG\r\n")
	first, second := f.shutdown(patience), f.shutdown(patience)
	expectNext(t, first, nil)
	expectNext(t, second, nil)
	if c, err := net.Dial("tcp", f.addr); err == nil {
		c.Close()
		t.Error("the listener is still open")
	}
}

func TestKill(t *testing.T) {
	inTime(t, func(t *testing.T, f *fixture, ln *pipes) {
		idle, waits, deaf, other := ln.dial(t), ln.dial(t), ln.dial(t), ln.dial(t)
		other.ask("ID\r\n", ":4\r\n")
		waits.send("HOLD\r\n")
		<-f.handler.held
		deaf.send(ping)
		synctest.Wait()
		begin := time.Now()
		if n := f.Kill(func(info resp.ClientInfo) bool { return info.ID != 4 }); n != 3 {
			t.Errorf("killed %d", n)
		}
		for _, p := range []*peer{idle, waits, deaf} {
			p.expectEnd()
			expectNext(t, f.closed, server.ReasonKilled)
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("took %s", took)
		}
		other.ask(ping, "+PONG\r\n")
		f.handler.release() // nobody is there to be woken
		if n := f.Kill(func(info resp.ClientInfo) bool { return info.ID == 1 }); n != 0 {
			t.Errorf("killed %d that are dead", n)
		}
	})
}

// Who is killed twice, since its handler has not noticed yet, counts once.
func TestKillTwice(t *testing.T) {
	inTime(t, func(t *testing.T, f *fixture, ln *pipes) {
		p := ln.dial(t)
		p.send("BLOCK\r\n")
		<-f.handler.held
		for _, want := range []int{1, 0} {
			if n := f.Kill(func(resp.ClientInfo) bool { return true }); n != want {
				t.Errorf("killed %d, want %d", n, want)
			}
		}
		close(f.handler.unblock)
		p.expectEnd()
		expectNext(t, f.closed, server.ReasonKilled)
	})
}

// Replies before a command that waits leave without it; those behind it wait.
func TestWait(t *testing.T) {
	inTime(t, func(t *testing.T, f *fixture, ln *pipes) {
		p, other := ln.dial(t), ln.dial(t)
		p.send("PING\r\nHOLD\r\nPING\r\nHOLD\r\nPING\r\n")
		p.expect("+PONG\r\n")
		<-f.handler.held
		other.ask(ping, "+PONG\r\n")
		f.handler.release()
		p.expect("+RELEASED\r\n+PONG\r\n")
		<-f.handler.held
		f.handler.release()
		p.expect("+RELEASED\r\n+PONG\r\n")
	})
}

// A client that goes while its command waits is noticed when that is answered.
func TestPeerGoesWhileWaiting(t *testing.T) {
	inTime(t, func(t *testing.T, f *fixture, ln *pipes) {
		p := ln.dial(t)
		p.send("HOLD\r\n")
		<-f.handler.held
		p.Close()
		f.handler.release()
		expectNext(t, f.closed, server.ReasonPeer)
	})
}
