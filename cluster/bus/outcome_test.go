package bus

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// callInTime runs a test in synthetic time, with a node that answers calls and
// a client of it.
func callInTime(t *testing.T, test func(t *testing.T, answers *callee, calls *caller), change ...func(*ClientConfig)) {
	t.Helper()
	inTime(t, func(t *testing.T, a *node, net *pipes) {
		b := other(t, func(c *Config) { c.Dial = net.dial })
		answers := a.answer(t, LaneDecide)
		calls := client(t, b, a, LaneDecide, change...)
		next(t, calls.up)
		test(t, answers, calls)
	})
}

// A call is given up after its own time, whatever others take, and what comes
// later is nobody's.
func TestTimeout(t *testing.T) {
	callInTime(t, func(t *testing.T, answers *callee, calls *caller) {
		begin := time.Now()
		long := calls.begin(t, kindLater, "long", 300*time.Millisecond)
		short := calls.begin(t, kindLater, "short", 100*time.Millisecond)
		if err := next(t, short); !errors.Is(err, ErrOutcomeUnknown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(begin); took != 100*time.Millisecond {
			t.Errorf("took %s", took)
		}
		answers.release()
		if err := next(t, long); err != nil {
			t.Errorf("the longer call: %v", err)
		}
		calls.expect(t, kindEcho, "still there")
	})
}

// Calls reuse each other's timers: none fires for another.
func TestTimersReused(t *testing.T) {
	callInTime(t, func(t *testing.T, _ *callee, calls *caller) {
		for range 100 {
			if err := next(t, calls.begin(t, kindEcho, "x", 50*time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			<-time.After(10 * time.Millisecond)
		}
	})
}

// A peer that asks for it gets more time, from then on, but not more than the
// caller allows.
func TestHold(t *testing.T) {
	callInTime(t, func(t *testing.T, answers *callee, calls *caller) {
		held := calls.begin(t, kindHold, "x", 100*time.Millisecond)
		<-time.After(900 * time.Millisecond)
		answers.release()
		if err := next(t, held); err != nil {
			t.Error(err)
		}
	})
	allow := func(c *ClientConfig) { c.Limits.MaxHold = 500 * time.Millisecond }
	callInTime(t, func(t *testing.T, _ *callee, calls *caller) {
		begin := time.Now()
		held := calls.begin(t, kindHold, "x", 100*time.Millisecond)
		if err := next(t, held); !errors.Is(err, ErrOutcomeUnknown) || time.Since(begin) != 500*time.Millisecond {
			t.Errorf("got %v after %s", err, time.Since(begin))
		}
	}, allow)
}

// Where no call is answered for long, the connection is given up; where some
// are, it stays.
func TestSilence(t *testing.T) {
	callInTime(t, func(t *testing.T, _ *callee, calls *caller) {
		begin := time.Now()
		for err := error(nil); err == nil; {
			result := make(chan error, 1)
			err = calls.Start(kindLater, nil, 100*time.Millisecond, func(_ []byte, err error) { result <- err })
			if err == nil {
				_ = next(t, result)
			}
			if time.Since(begin) > time.Minute {
				t.Fatal("never cut")
			}
		}
		last := next(t, calls.down)
		if took := time.Since(begin); !errors.Is(last, errSilent) || took > 2300*time.Millisecond {
			t.Errorf("ended after %s with %v", took, last)
		}
		next(t, calls.up) // and is opened anew
		calls.expect(t, kindEcho, "back")
	})
	callInTime(t, func(t *testing.T, _ *callee, calls *caller) {
		for range 50 {
			_ = next(t, calls.begin(t, kindLater, "", 100*time.Millisecond))
			calls.expect(t, kindEcho, "x")
		}
		if len(calls.down) > 0 {
			t.Errorf("cut: %v", <-calls.down)
		}
	})
}

// switchable is a condition that a test changes.
type switchable struct{ off, asked atomic.Bool }

func (s *switchable) Holds() bool {
	s.asked.Store(true)
	return !s.off.Load()
}

// The condition of a reply is asked when the reply leaves, not when it is made.
func TestCondition(t *testing.T) {
	a, b := start(t), other(t)
	condition := new(switchable)
	a.answer(t, LaneDecide, func(c *ServeConfig) {
		c.Handler = func(_ *Conn, _ byte, payload []byte, reply Reply) {
			reply.SendIf(payload, condition)
		}
	})
	calls := client(t, b, a, LaneDecide)
	calls.expect(t, kindEcho, "it holds")
	if !condition.asked.Load() {
		t.Error("the condition was not asked")
	}
	condition.off.Store(true)
	if reply, err := calls.Call(t.Context(), kindEcho, []byte("x")); !errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("got %q, %v", reply, err)
	}
}

// In one batch, those replies are withdrawn whose own condition fails.
func TestConditionsInABatch(t *testing.T) {
	a, b := start(t), other(t)
	l := a.listen(t, LaneDecide)
	dialed, accepted := pair(t, b, a, l)
	out := newOutbox(accepted, 1<<20, patience)
	for i := range 10 {
		var c Condition
		if i%3 > 0 {
			c = constant(i%3 == 1)
		}
		if _, err := out.add(frame{id: uint32(i), kind: answerReply, payload: []byte{byte(i)}}, c); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	written := make(chan error, 1)
	go func() { written <- out.run(done) }()
	frames := newFrameReader(dialed, 10)
	for i := range 10 {
		f, err := frames.next()
		if err != nil {
			t.Fatal(err)
		}
		want := byte(answerReply)
		if i%3 == 2 {
			want = answerWithdrawn
		}
		if f.id != uint32(i) || f.kind != want {
			t.Errorf("reply %d: id %d, kind %d, want kind %d", i, f.id, f.kind, want)
		}
	}
	close(done)
	if err := next(t, written); err != nil {
		t.Error(err)
	}
}

// A cut connection leaves calls that were sent unknown, and those that were not
// not done.
func TestCut(t *testing.T) {
	inTime(t, func(t *testing.T, a *node, network *pipes) {
		b := other(t, func(c *Config) { c.Dial = network.dial })
		l := a.listen(t, LaneDecide)
		calls := client(t, b, a, LaneDecide)
		peer, err := l.AcceptConn()
		if err != nil {
			t.Fatal(err)
		}
		next(t, calls.up)
		sent := calls.begin(t, kindEcho, "sent", patience)
		frames := newFrameReader(peer, 100)
		if f, err := frames.next(); err != nil || string(f.payload) != "sent" {
			t.Fatalf("got %q, %v", f.payload, err)
		}
		writing := calls.begin(t, kindEcho, "nobody reads this", patience)
		synctest.Wait()
		queued := calls.begin(t, kindEcho, "nor this", patience)
		peer.Close()
		for name, r := range map[string]struct {
			result <-chan error
			want   error
		}{
			"sent":    {sent, ErrOutcomeUnknown},
			"writing": {writing, ErrOutcomeUnknown},
			"queued":  {queued, ErrNotDone},
		} {
			err := next(t, r.result)
			if !errors.Is(err, r.want) || errors.Is(err, ErrNotDone) && errors.Is(err, ErrOutcomeUnknown) {
				t.Errorf("%s: got %v, want %v", name, err, r.want)
			}
		}
	})
}

// Calls fail at once while there is no connection; a Call that may wait for one
// does.
func TestNotConnected(t *testing.T) {
	inTime(t, func(t *testing.T, a *node, network *pipes) {
		var reachable atomic.Bool
		b := other(t, func(c *Config) {
			c.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
				if !reachable.Load() {
					return nil, errors.New("no route")
				}
				return network.dial(ctx, addr)
			}
		})
		a.answer(t, LaneDecide)
		calls := client(t, b, a, LaneDecide)
		_ = next(t, calls.down)
		begin := time.Now()
		none := func([]byte, error) { t.Error("done was called") }
		if err := calls.Start(kindEcho, nil, time.Second, none); !errors.Is(err, ErrNotDone) {
			t.Errorf("Start: %v", err)
		}
		if err := calls.Send(kindEcho, nil); !errors.Is(err, ErrNotDone) {
			t.Errorf("Send: %v", err)
		}
		if _, ok := calls.Peer(); ok {
			t.Error("it is connected")
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("it took %s to say so", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := calls.Call(ctx, kindEcho, nil); !errors.Is(err, ErrNotDone) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Call: %v", err)
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("Call took %s", took)
		}
		time.AfterFunc(time.Second, func() { reachable.Store(true) })
		calls.expect(t, kindEcho, "now")
	})
}

// Pauses between attempts double, and begin anew after a connection that was
// good.
func TestBackoff(t *testing.T) {
	inTime(t, func(t *testing.T, a *node, network *pipes) {
		attempts := make(chan time.Time, 100)
		var reachable atomic.Bool
		b := other(t, func(c *Config) {
			c.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
				attempts <- time.Now()
				if !reachable.Load() {
					return nil, errors.New("no route")
				}
				return network.dial(ctx, addr)
			}
		})
		expectPauses := func(last time.Time, want ...time.Duration) time.Time {
			t.Helper()
			var pauses []time.Duration
			for range want {
				at := <-attempts
				pauses = append(pauses, at.Sub(last))
				last = at
			}
			if !slices.Equal(pauses, want) {
				t.Errorf("pauses %v, want %v", pauses, want)
			}
			return last
		}
		const ms = time.Millisecond
		l := a.listen(t, LaneDecide)
		calls := client(t, b, a, LaneDecide)
		last := expectPauses(time.Now(), 0, 10*ms, 20*ms, 40*ms, 80*ms, 160*ms, 320*ms, 640*ms, time.Second, time.Second)

		reachable.Store(true)
		peer, err := l.AcceptConn()
		if err != nil {
			t.Fatal(err)
		}
		last = expectPauses(last, time.Second)
		next(t, calls.up)
		peer.Close() // a connection that was of no use
		last = expectPauses(last, time.Second)
		if peer, err = l.AcceptConn(); err != nil {
			t.Fatal(err)
		}
		next(t, calls.up)
		<-time.After(time.Minute)
		peer.Close()
		expectPauses(last, time.Minute+10*ms)
		if peer, err = l.AcceptConn(); err != nil {
			t.Fatal(err)
		}
		calls.Close()
		if n, err := peer.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("read %d, %v", n, err)
		}
		peer.Close()
	})
}

// An attempt that takes long to fail is not a connection that was good.
func TestBackoffAfterSlowAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := make(chan time.Time)
		b := other(t, func(c *Config) {
			c.Dial = func(ctx context.Context, _ string) (net.Conn, error) {
				attempts <- time.Now()
				<-ctx.Done()
				return nil, ctx.Err()
			}
		})
		calls := client(t, b, b, LaneDecide)
		last := <-attempts
		for _, pause := range []time.Duration{10, 20, 40} {
			at := <-attempts
			if got, want := at.Sub(last), 5*time.Second+pause*time.Millisecond; got != want {
				t.Errorf("the next attempt came after %s, want %s", got, want)
			}
			last = at
		}
		calls.Close()
	})
}

// A timer that fires while the answer is taken finishes nothing, and its call
// is not used again.
func TestTimerRaces(t *testing.T) {
	a, b := start(t), other(t)
	dialed, _ := pair(t, b, a, a.listen(t, LaneDecide))
	cfg := DefaultClientConfig()
	l := newLink(dialed, &cfg)
	finished := 0
	for id := range uint32(20) {
		if err := l.start(frame{}, time.Hour, func([]byte, error) { finished++ }); err != nil {
			t.Fatal(err)
		}
		c := l.pending[id+1]
		c.timer.Stop() // as if it had fired
		l.answered(frame{id: id + 1, kind: answerReply})
		c.expire()
		if again := l.calls.Get(); again != nil {
			t.Fatal("a call whose timer runs is used again")
		}
	}
	if finished != 20 {
		t.Errorf("20 calls finished %d times", finished)
	}
}

// A Client that is closed fails what it has, and whatever is asked of it.
func TestClientClose(t *testing.T) {
	answers, calls := connect(t)
	waiting := calls.begin(t, kindLater, "x", patience)
	next(t, answers.received)
	calls.Close()
	if err := next(t, waiting); !errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("the call in flight: %v", err)
	}
	if _, err := calls.Call(t.Context(), kindEcho, nil); !errors.Is(err, ErrNotDone) || !errors.Is(err, ErrClosed) {
		t.Errorf("Call: %v", err)
	}
	if err := calls.Send(kindEcho, nil); !errors.Is(err, ErrNotDone) || !errors.Is(err, ErrClosed) {
		t.Errorf("Send: %v", err)
	}
	calls.Close()
}

// The context of a Call ends it.
func TestCallCanceled(t *testing.T) {
	answers, calls := connect(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		next(t, answers.received)
		cancel()
	}()
	if _, err := calls.Call(ctx, kindLater, nil); !errors.Is(err, ErrOutcomeUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
