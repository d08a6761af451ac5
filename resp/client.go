package resp

import (
	"sync"
	"sync/atomic"
)

// ClientInfo is what is known of a peer.
type ClientInfo struct {
	ID         int64 // unique in this process
	RemoteAddr string
	LocalAddr  string
	Name       string
	LibName    string
	LibVer     string
	User       string
	Proto      int
	CreatedAt  int64  // Unix nanoseconds
	LastAt     int64  // of the last batch
	Channels   int    // subscribed to
	Patterns   int    // subscribed to
	Failed     string // the command whose handler panicked
	Last       string // the last command, as Ran was told
	InMulti    bool   // commands are being queued
	Queued     int    // how many are
}

// client guards what other sessions may ask about this one.
type client struct {
	mu   sync.Mutex
	info ClientInfo // guarded by mu, but for ID, which never changes

	// These change too often for the lock.
	last   atomic.Pointer[string]
	queued atomic.Int32 // commands that MULTI queued and one more; 0: not in MULTI
}

// Info describes the peer. It may be called from any goroutine.
func (s *Session) Info() ClientInfo {
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	info := s.client.info
	if last := s.client.last.Load(); last != nil {
		info.Last = *last
	}
	if queued := s.client.queued.Load(); queued > 0 {
		info.InMulti, info.Queued = true, int(queued)-1
	}
	return info
}

// Ran notes the name of the running command, which must not change.
func (s *Session) Ran(name *string) {
	if s.client.last.Load() != name {
		s.client.last.Store(name)
	}
}

// Describe changes what is known of the peer, but for its ID. Info waits for
// change, which must not call it.
func (s *Session) Describe(change func(*ClientInfo)) {
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	change(&s.client.info)
}

// ID is the client's number, unique in this process.
func (s *Session) ID() int64 { return s.client.info.ID }
