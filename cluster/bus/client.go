package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// ClientConfig is what a Client needs.
type ClientConfig struct {
	Bus    *Bus
	Target func() Target // asked at each connection: nodes come back with new addresses
	Lane   Lane
	Limits CallLimits
	Events ClientEvents

	DialTimeout  time.Duration // until both sides have greeted
	CallTimeout  time.Duration // of a Call whose context has no deadline
	SilenceLimit time.Duration // for which no call is answered until the connection is cut
	FirstPause   time.Duration // after a connection that was good
	LongestPause time.Duration // a pause doubles up to this; a connection that lasted as long was good
}

// ClientEvents reports what happens to a Client's connection. Fields may be nil.
// They are called one after the other, and must not block.
type ClientEvents struct {
	Up   func(peer Hello)
	Down func(err error) // a connection ended, or could not be opened
}

// DefaultClientConfig lacks Bus, Target and Lane.
func DefaultClientConfig() ClientConfig {
	return ClientConfig{
		Limits:       DefaultCallLimits(),
		DialTimeout:  5 * time.Second,
		CallTimeout:  5 * time.Second,
		SilenceLimit: 2 * time.Second,
		FirstPause:   10 * time.Millisecond,
		LongestPause: time.Second,
	}
}

// Validate reports everything that is missing or out of range.
func (c *ClientConfig) Validate() error {
	var errs []error
	if c.Bus == nil {
		errs = append(errs, errors.New("bus: a client without a bus"))
	}
	if c.Target == nil {
		errs = append(errs, errors.New("bus: a client without a target"))
	}
	if !c.Lane.known() {
		errs = append(errs, fmt.Errorf("bus: a client on %s, which does not exist", c.Lane))
	}
	for _, t := range []struct {
		name  string
		value time.Duration
	}{
		{"dial timeout", c.DialTimeout},
		{"call timeout", c.CallTimeout},
		{"silence limit", c.SilenceLimit},
		{"first pause", c.FirstPause},
		{"longest pause", c.LongestPause},
	} {
		if t.value < 1 {
			errs = append(errs, fmt.Errorf("bus: %s must be positive, got %s", t.name, t.value))
		}
	}
	return errors.Join(append(errs, c.Limits.Validate())...)
}

// Client keeps one connection to a node, with many calls in flight.
type Client struct {
	cfg  ClientConfig
	stop context.CancelFunc
	done chan struct{} // run has returned

	now atomic.Pointer[presence] // never nil

	mu      sync.Mutex
	arrival chan struct{} // closed when the Client connects, or is closed
}

// presence is the connection there is, or why there is none.
type presence struct {
	link *link
	err  error // an ErrNotDone
}

// NewClient returns a Client that connects until it is closed.
func NewClient(cfg ClientConfig) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(cfg.Bus.stopping)
	c := &Client{cfg: cfg, stop: stop, done: make(chan struct{}), arrival: make(chan struct{})}
	c.now.Store(&presence{err: notDone(errNotConnected)})
	go c.run(ctx)
	return c, nil
}

// Close ends the connection. All calls fail.
func (c *Client) Close() {
	c.stop()
	<-c.done
}

// Peer is the node that the Client is connected to, if it is.
func (c *Client) Peer() (peer Hello, connected bool) {
	if l := c.now.Load().link; l != nil {
		return l.conn.Peer(), true
	}
	return Hello{}, false
}

// Start makes a call that is given up after the timeout. Without an error, done
// is called exactly once, from another goroutine or before Start returns, with
// the answer, which it must not keep, or with an ErrNotDone or
// ErrOutcomeUnknown; it must not block. With an error, always an ErrNotDone,
// done is not called: there is no connection now, or too much waits on it.
func (c *Client) Start(kind byte, payload []byte, timeout time.Duration, done func(reply []byte, err error)) error {
	p := c.now.Load()
	if p.link == nil {
		return p.err
	}
	return p.link.start(frame{kind: kind, payload: payload}, timeout, done)
}

// Send makes a call that has no answer. Without an error it is queued, and may
// arrive; with one, always an ErrNotDone, it does not.
func (c *Client) Send(kind byte, payload []byte) error {
	p := c.now.Load()
	if p.link == nil {
		return p.err
	}
	return p.link.send(frame{id: oneWay, kind: kind, payload: payload})
}

// Call waits for a connection, makes a call and waits for the answer, until ctx
// ends, or for CallTimeout where ctx has no deadline. Errors are ErrNotDone or
// ErrOutcomeUnknown, with the cause. A peer's Hold does not lengthen ctx.
func (c *Client) Call(ctx context.Context, kind byte, payload []byte) ([]byte, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = c.cfg.Bus.cfg.Now().Add(c.cfg.CallTimeout)
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	if err := c.connected(ctx); err != nil {
		return nil, err
	}
	type outcome struct {
		reply []byte
		err   error
	}
	result := make(chan outcome, 1)
	left := deadline.Sub(c.cfg.Bus.cfg.Now())
	err := c.Start(kind, payload, left, func(reply []byte, err error) {
		result <- outcome{reply: bytes.Clone(reply), err: err}
	})
	if err != nil {
		return nil, err
	}
	select {
	case r := <-result:
		return r.reply, r.err
	case <-ctx.Done():
		return nil, unknown(ctx.Err())
	}
}

// connected waits for a connection.
func (c *Client) connected(ctx context.Context) error {
	for {
		c.mu.Lock()
		arrival := c.arrival
		c.mu.Unlock()
		p := c.now.Load()
		if p.link != nil || errors.Is(p.err, ErrClosed) {
			return nil // Start says what it is
		}
		select {
		case <-arrival:
		case <-ctx.Done():
			if latest := c.now.Load(); latest.err != nil {
				p = latest // it tells why the connection did not come about
			}
			return fmt.Errorf("%w: %w", p.err, ctx.Err())
		}
	}
}

// appear publishes what there is, and wakes who waits for it.
func (c *Client) appear(p *presence) {
	c.now.Store(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.arrival)
	c.arrival = make(chan struct{})
}

// run connects, again and again.
func (c *Client) run(ctx context.Context) {
	defer close(c.done)
	defer c.appear(&presence{err: notDone(ErrClosed)})
	pause := c.cfg.FirstPause
	for {
		began := c.cfg.Bus.cfg.Now()
		err := c.connect(ctx)
		if ctx.Err() != nil {
			return
		}
		c.now.Store(&presence{err: notDone(err)})
		if c.cfg.Events.Down != nil {
			c.cfg.Events.Down(err)
		}
		if c.cfg.Bus.cfg.Now().Sub(began) >= c.cfg.LongestPause && !errors.Is(err, errDial) {
			pause = c.cfg.FirstPause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
			pause = min(2*pause, c.cfg.LongestPause)
		}
	}
}

// errDial marks a connection that did not come about.
var errDial = errors.New("bus: no connection")

// connect opens a connection and serves it until it ends.
func (c *Client) connect(ctx context.Context) error {
	dialing, cancel := context.WithTimeout(ctx, c.cfg.DialTimeout)
	conn, err := c.cfg.Bus.Dial(dialing, c.cfg.Target(), c.cfg.Lane)
	cancel()
	if err != nil {
		return fmt.Errorf("%w: %w", errDial, err)
	}
	cut := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer cut()
	l := newLink(conn, &c.cfg)
	c.appear(&presence{link: l})
	if c.cfg.Events.Up != nil {
		c.cfg.Events.Up(conn.Peer())
	}
	return l.run()
}
