package server

import (
	"net"
	"net/netip"
	"time"
)

// errMaxClients is Redis' text: clients match on it.
const errMaxClients = "-ERR max number of clients reached\r\n"

// open starts a connection's goroutine, or refuses it.
func (s *Server) open(nc net.Conn) {
	c := newConn(s, nc)
	if why := s.admit(c); why != "" {
		s.refuse(nc, why)
		return
	}
	s.keepAlive(nc)
	c.start(s.ids.Add(1))
	s.register(c)
	go func() {
		defer s.running.Done()
		why := c.serve()
		s.leave(c)
		if s.cfg.Events.Closed != nil {
			s.cfg.Events.Closed(c.session.Info(), why)
		}
	}()
}

// admit makes room for a connection, or says why it may not come in.
func (s *Server) admit(c *conn) Reason {
	s.mu.Lock()
	defer s.mu.Unlock()
	tuning := s.tuning.Load()
	switch {
	case s.stopping.Err() != nil:
		return ReasonShutdown
	case s.admitted >= tuning.MaxClients:
		return ReasonClients
	case tuning.MaxClientsPerAddr > 0 && s.strangers[c.host] >= tuning.MaxClientsPerAddr:
		return ReasonPerAddr
	}
	s.accepted++
	s.admitted++
	c.stranger = true
	s.strangers[c.host]++
	s.running.Add(1)
	return ""
}

// refuse answers in Redis' words. A socket that is new has room for them, so
// this waits for nobody; a TLS peer, with which no handshake was made, could
// not read them.
func (s *Server) refuse(nc net.Conn, why Reason) {
	s.refused.Add(1)
	if s.cfg.Events.Refused != nil {
		s.cfg.Events.Refused(nc.RemoteAddr().String(), why)
	}
	if tcp, plain := nc.(*net.TCPConn); plain && why != ReasonShutdown {
		if tcp.SetWriteDeadline(s.cfg.Deadline(time.Second)) == nil {
			_, _ = tcp.Write([]byte(errMaxClients)) // as good as one can
		}
	}
	cut(nc)
}

// register makes a connection known, now that it has a session.
func (s *Server) register(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c.session.ID()] = c
	if s.cutting {
		c.kill()
	}
	if c.session.Authenticated {
		s.forgetStranger(c)
	}
}

// acquainted notes that a connection has authenticated.
func (s *Server) acquainted(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetStranger(c)
}

func (s *Server) forgetStranger(c *conn) {
	if !c.stranger {
		return
	}
	c.stranger = false
	if s.strangers[c.host]--; s.strangers[c.host] == 0 {
		delete(s.strangers, c.host)
	}
}

func (s *Server) leave(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetStranger(c)
	delete(s.conns, c.session.ID())
	s.admitted--
	s.read.Add(c.read.Load())
	s.written.Add(c.written.Load())
}

// keepAlive finds peers that are gone without a word.
func (s *Server) keepAlive(nc net.Conn) {
	tcp, ok := bottom(nc).(*net.TCPConn)
	if !ok || s.cfg.KeepAlive == 0 {
		return
	}
	const probes = 3
	_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{ // it may be gone already
		Enable: true, Idle: s.cfg.KeepAlive, Interval: s.cfg.KeepAlive / probes, Count: probes,
	})
}

// bottom is the connection under TLS.
func bottom(nc net.Conn) net.Conn {
	if t, ok := nc.(interface{ NetConn() net.Conn }); ok {
		return t.NetConn()
	}
	return nc
}

// cut closes a connection at once: under TLS without its farewell, which would
// wait for a peer that does not read.
func cut(nc net.Conn) { _ = bottom(nc).Close() } // it may be closed already

// hostOf is what counts as one address: of IPv6 the /64 that a host has to
// itself.
func hostOf(addr net.Addr) string {
	ap, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return addr.String()
	}
	ip := ap.Addr().Unmap()
	if ip.Is4() {
		return ip.String()
	}
	const prefix = 64
	net, err := ip.WithZone("").Prefix(prefix)
	if err != nil {
		return ip.String()
	}
	return net.String()
}
