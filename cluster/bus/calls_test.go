package bus

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// Kinds of calls that the echo of the tests knows.
const (
	kindEcho    = 1
	kindLater   = 2 // answered by release
	kindRefuse  = 3
	kindPanic   = 4
	kindHold    = 5 // held, and answered by release
	kindVoid    = 6 // a reply whose condition does not hold
	kindTooLong = 7
	kindQuick   = 8 // kindEcho without a copy
)

// callee answers calls, and keeps some waiting.
type callee struct {
	received chan []byte // of kindLater and kindHold, and of calls without an answer
	panics   chan any
	ended    chan error

	mu      sync.Mutex
	waiting []func() // answers to kindLater and kindHold, oldest first
}

func (c *callee) handle(_ *Conn, kind byte, payload []byte, reply Reply) {
	if kind == kindQuick {
		reply.Send(payload)
		return
	}
	payload = bytes.Clone(payload)
	switch {
	case !reply.Wanted():
		c.received <- payload
	case kind == kindEcho:
		reply.Send(payload)
	case kind == kindLater, kind == kindHold:
		if kind == kindHold {
			reply.Hold(time.Second)
		}
		c.mu.Lock()
		c.waiting = append(c.waiting, func() { reply.Send(payload) })
		c.mu.Unlock()
		c.received <- payload
	case kind == kindRefuse:
		reply.Refuse("not today")
	case kind == kindVoid:
		reply.SendIf(payload, constant(false))
	case kind == kindTooLong:
		reply.Send(make([]byte, 2<<20))
	default:
		panic("a handler's bug")
	}
}

// release answers what waits, the newest first.
func (c *callee) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.waiting) - 1; i >= 0; i-- {
		c.waiting[i]()
	}
	c.waiting = nil
}

type constant bool

func (c constant) Holds() bool { return bool(c) }

// answer serves calls on a lane of the node.
func (n *node) answer(tb testing.TB, lane Lane, change ...func(*ServeConfig)) *callee {
	tb.Helper()
	const most = 1000
	c := &callee{received: make(chan []byte, most), panics: make(chan any, most), ended: make(chan error, most)}
	cfg := ServeConfig{
		Handler: c.handle,
		Limits:  DefaultCallLimits(),
		Panic:   func(_ Hello, _ byte, value any, _ []byte) { c.panics <- value },
		Ended:   func(_ Hello, err error) { c.ended <- err },
	}
	for _, f := range change {
		f(&cfg)
	}
	l := n.listen(tb, lane)
	done := make(chan error, 1)
	go func() { done <- ServeCalls(l, cfg) }()
	tb.Cleanup(func() {
		l.Close()
		if err := <-done; !errors.Is(err, ErrClosed) {
			tb.Errorf("ServeCalls: %v", err)
		}
	})
	return c
}

// caller is a Client and what it reports.
type caller struct {
	*Client

	up   chan Hello
	down chan error
}

// client connects from one node to another.
func client(tb testing.TB, from, to *node, lane Lane, change ...func(*ClientConfig)) *caller {
	tb.Helper()
	const most = 1000
	c := &caller{up: make(chan Hello, most), down: make(chan error, most)}
	cfg := DefaultClientConfig()
	cfg.Bus, cfg.Lane = from.Bus, lane
	cfg.Target = func() Target { return Target{Addr: to.addr} }
	cfg.Events = ClientEvents{Up: func(peer Hello) { c.up <- peer }, Down: func(err error) { c.down <- err }}
	for _, f := range change {
		f(&cfg)
	}
	var err error
	if c.Client, err = NewClient(cfg); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

func (c *caller) expect(tb testing.TB, kind byte, payload string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	if reply, err := c.Call(ctx, kind, []byte(payload)); err != nil || string(reply) != payload {
		tb.Errorf("kind %d: got %q, %v", kind, reply, err)
	}
}

// begin starts a call whose outcome is to be looked at later.
func (c *caller) begin(tb testing.TB, kind byte, payload string, timeout time.Duration) <-chan error {
	tb.Helper()
	result := make(chan error, 1)
	err := c.Start(kind, []byte(payload), timeout, func(reply []byte, err error) {
		if err == nil && string(reply) != payload {
			err = fmt.Errorf("reply %q", reply)
		}
		result <- err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return result
}

func connect(tb testing.TB) (*callee, *caller) {
	tb.Helper()
	a, b := start(tb), other(tb)
	answers := a.answer(tb, LaneDecide)
	calls := client(tb, b, a, LaneDecide)
	next(tb, calls.up)
	return answers, calls
}

func TestCalls(t *testing.T) {
	answers, calls := connect(t)
	calls.expect(t, kindEcho, "")
	calls.expect(t, kindEcho, "a payload")
	calls.expect(t, kindEcho, string(make([]byte, 1<<20)))
	if err := calls.Send(kindEcho, []byte("a notice")); err != nil {
		t.Error(err)
	}
	if got := string(next(t, answers.received)); got != "a notice" {
		t.Errorf("received %q", got)
	}
	if peer, ok := calls.Peer(); !ok || peer.Node != nodeA {
		t.Errorf("the peer is %+v, %t", peer, ok)
	}
	if _, err := calls.Call(t.Context(), kindEcho, make([]byte, 1<<20+1)); !errors.Is(err, ErrNotDone) {
		t.Errorf("too long: %v", err)
	}
	calls.expect(t, kindEcho, "still there")
}

// Answers come in any order.
func TestCallsOutOfOrder(t *testing.T) {
	answers, calls := connect(t)
	var results []<-chan error
	for i := range 100 {
		results = append(results, calls.begin(t, kindLater, fmt.Sprint(i), patience))
	}
	for range results {
		next(t, answers.received)
	}
	calls.expect(t, kindEcho, "meanwhile")
	answers.release()
	for i, r := range results {
		if err := next(t, r); err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

func TestCallsInterleaved(t *testing.T) {
	_, calls := connect(t)
	var all sync.WaitGroup
	for g := range 20 {
		all.Go(func() {
			payload := make([]byte, 4+g*500)
			for i := range 50 {
				binary.BigEndian.PutUint32(payload, uint32(g*1000+i))
				reply, err := calls.Call(t.Context(), kindEcho, payload)
				if err != nil || !bytes.Equal(reply, payload) {
					t.Errorf("%d bytes came back, %v", len(reply), err)
				}
			}
		})
	}
	all.Wait()
}

func TestCallOutcomes(t *testing.T) {
	for name, test := range map[string]struct {
		kind byte
		want error
	}{
		"refused":        {kindRefuse, ErrNotDone},
		"withdrawn":      {kindVoid, ErrOutcomeUnknown},
		"reply too long": {kindTooLong, ErrOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			_, calls := connect(t)
			if _, err := calls.Call(t.Context(), test.kind, nil); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			calls.expect(t, kindEcho, "still there")
		})
	}
}

func TestRefusedCallSaysWhy(t *testing.T) {
	_, calls := connect(t)
	_, err := calls.Call(t.Context(), kindRefuse, nil)
	var refusal *CallRefusedError
	if !errors.As(err, &refusal) || refusal.Detail != "not today" {
		t.Errorf("got %v", err)
	}
}

// A Handler's panic costs its connection; the client comes back.
func TestHandlerPanic(t *testing.T) {
	answers, calls := connect(t)
	waiting := calls.begin(t, kindLater, "x", patience)
	next(t, answers.received)
	if _, err := calls.Call(t.Context(), kindPanic, nil); !errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("got %v", err)
	}
	if err := next(t, waiting); !errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("the call beside it: %v", err)
	}
	if got := next(t, answers.panics); got != "a handler's bug" {
		t.Errorf("the panic was %v", got)
	}
	if err := next(t, answers.ended); !errors.Is(err, errPanic) {
		t.Errorf("ended because of %v", err)
	}
	_ = next(t, calls.down)
	next(t, calls.up)
	calls.expect(t, kindEcho, "back")
	answers.release() // into the connection that is gone
}
