package server

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlserver/rlserver/resp"
)

// ErrClosed is returned by Serve once Shutdown was called.
var ErrClosed = errors.New("server closed")

// Server serves connections of any number of listeners.
type Server struct {
	cfg    Config
	tuning atomic.Pointer[Tuning] // what counts instead of cfg's

	stopping context.Context // ends when Shutdown is called
	stop     context.CancelFunc
	running  sync.WaitGroup // connections

	ids     atomic.Int64 // the last client's
	refused atomic.Int64
	read    atomic.Int64 // bytes of connections that are closed
	written atomic.Int64

	mu        sync.Mutex // not held while a handler or an event runs, but for Kill's match
	cutting   bool       // Shutdown's time is over: cut also what is being opened
	accepted  int64
	admitted  int // connections now; those that are about to be opened are not in conns
	listeners map[net.Listener]struct{}
	conns     map[int64]*conn
	strangers map[string]int // connections of an address that have not authenticated
}

// New returns a Server that serves nothing yet.
func New(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Server{
		cfg:       cfg,
		listeners: make(map[net.Listener]struct{}),
		conns:     make(map[int64]*conn),
		strangers: make(map[string]int),
	}
	s.tuning.Store(&cfg.Tuning)
	s.stopping, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// Serve accepts connections until Shutdown, when it returns ErrClosed. It
// takes over the listener. A failed accept is reported and tried again, at
// most every second: out of descriptors is no reason to spin or to die.
func (s *Server) Serve(ln net.Listener) error {
	if !s.track(ln) {
		return errors.Join(ErrClosed, ln.Close())
	}
	defer s.untrack(ln)
	const firstPause, longestPause = 5 * time.Millisecond, time.Second
	pause := firstPause
	for {
		nc, err := ln.Accept()
		if err == nil {
			pause = firstPause
			s.open(nc)
			continue
		}
		if s.stopping.Err() != nil {
			return ErrClosed
		}
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		if s.cfg.Events.Accept != nil {
			s.cfg.Events.Accept(err)
		}
		select {
		case <-s.stopping.Done():
			return ErrClosed
		case <-time.After(pause):
			pause = min(2*pause, longestPause)
		}
	}
}

func (s *Server) track(ln net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Err() != nil {
		return false
	}
	s.listeners[ln] = struct{}{}
	return true
}

func (s *Server) untrack(ln net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, ln)
	_ = ln.Close() // Shutdown may have closed it
}

// Tune changes what can change while it serves. Connections that exist stay,
// also where there are more than MaxClients now; timeouts count for all of
// them, that of writes from the next one on.
func (s *Server) Tune(t Tuning) error {
	if err := t.Validate(); err != nil {
		return err
	}
	s.tuning.Store(&t)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Err() != nil {
		return nil
	}
	for _, c := range s.conns {
		if c.reads.Load() {
			c.look()
		}
	}
	return nil
}

// cutPatience is how long Shutdown waits for connections that were cut.
const cutPatience = time.Second

// Shutdown stops accepting, lets every session finish the commands that have
// arrived and send their replies, and closes. When ctx ends first, what is
// left is cut and ctx's error returned.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.stop()
	for ln := range s.listeners {
		_ = ln.Close() // Accept reports it
	}
	for _, c := range s.conns {
		c.interrupt()
	}
	s.mu.Unlock()

	drained := make(chan struct{})
	go func() {
		s.running.Wait()
		close(drained)
	}()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	s.cutting = true
	s.mu.Unlock()
	s.Kill(func(resp.ClientInfo) bool { return true })
	// A command that runs cannot be cut. Who waits for it waits no longer than
	// anybody can need to notice that its connection is gone.
	select {
	case <-drained:
	case <-time.After(cutPatience):
	}
	return ctx.Err()
}
