package server

import "github.com/rlserver/rlserver/resp"

// Stats counts since the start; Clients is now.
type Stats struct {
	Clients, Accepted, Refused int64
	BytesRead, BytesWritten    int64
}

// Stats sums up all connections.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Stats{
		Clients:      int64(len(s.conns)),
		Accepted:     s.accepted,
		Refused:      s.refused.Load(),
		BytesRead:    s.read.Load(),
		BytesWritten: s.written.Load(),
	}
	for _, c := range s.conns {
		st.BytesRead += c.read.Load()
		st.BytesWritten += c.written.Load()
	}
	return st
}

// Clients describes every connection, in no order.
func (s *Server) Clients() []resp.ClientInfo {
	s.mu.Lock()
	conns := make([]*conn, 0, len(s.conns))
	for _, c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	infos := make([]resp.ClientInfo, len(conns))
	for i, c := range conns {
		infos[i] = c.info()
	}
	return infos
}

func (c *conn) info() resp.ClientInfo {
	info := c.session.Info()
	info.LastAt = c.lastAt.Load()
	return info
}

// Kill cuts the connections that match, and says how many. Their goroutines
// see a failed read or write.
func (s *Server) Kill(match func(resp.ClientInfo) bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.conns {
		if match(c.info()) && c.kill() {
			n++
		}
	}
	return n
}
