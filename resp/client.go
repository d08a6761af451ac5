package resp

import "sync"

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
}

// client guards what other sessions may ask about this one.
type client struct {
	mu   sync.Mutex
	info ClientInfo // guarded by mu, but for ID, which never changes
}

// Info describes the peer. It may be called from any goroutine.
func (s *Session) Info() ClientInfo {
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	return s.client.info
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
