package server_test

import (
	"net"
	"strconv"
	"sync"
	"testing"

	"github.com/rlserver/rlserver/resp"
	"github.com/rlserver/rlserver/resp/server"
)

func TestServe(t *testing.T) {
	f := start(t)
	p := f.dial(t)
	p.ask(ping, "+PONG\r\n")
	st := f.Stats()
	st.BytesWritten = 0 // the reply is here before it is counted there
	if want := (server.Stats{Clients: 1, Accepted: 1, BytesRead: 14}); st != want {
		t.Errorf("stats %+v, want %+v", st, want)
	}
	if peer := next(t, f.opened); peer.ID != 1 || peer.RemoteAddr != p.LocalAddr().String() {
		t.Errorf("opened %+v", peer)
	}
	p.ask("PING\r\nECHO \"a b\"\r\n"+pings(3), "+PONG\r\n$3\r\na b\r\n"+pongs(3))
	p.ask("QUIT\r\n", "+OK\r\n")
	p.expectEnd()
	expectNext(t, f.closed, server.ReasonQuit)
	st = f.Stats()
	read, written := int64(len(ping)*4+len("PING\r\nECHO \"a b\"\r\nQUIT\r\n")), int64(len(pongs(5))+len("$3\r\na b\r\n+OK\r\n"))
	if want := (server.Stats{Accepted: 1, BytesRead: read, BytesWritten: written}); st != want {
		t.Errorf("stats %+v, want %+v", st, want)
	}
}

func TestServeSeveralListeners(t *testing.T) {
	f := start(t)
	other := listen(t)
	addr := other.Addr().String()
	f.serve(t, other)
	f.dial(t).ask("ID\r\n", ":1\r\n")
	f.addr = addr
	f.dial(t).ask("ID\r\n", ":2\r\n")
	if n := f.Stats().Clients; n != 2 {
		t.Errorf("%d clients, want 2", n)
	}
}

func TestServeAfterShutdown(t *testing.T) {
	f := newFixture(t)
	if err := f.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	ln := listen(t)
	if err := f.Serve(ln); err == nil {
		t.Error("Serve does not say that the server is closed")
	}
	if c, err := net.Dial("tcp", ln.Addr().String()); err == nil {
		c.Close()
		t.Error("the listener is still open")
	}
}

// A listener that somebody else closes ends Serve: it would never accept again.
func TestServeForeignClose(t *testing.T) {
	f := newFixture(t)
	ln := listen(t)
	done := make(chan error, 1)
	go func() { done <- f.Serve(ln) }()
	f.addr = ln.Addr().String()
	f.dial(t).ask(ping, "+PONG\r\n")
	ln.Close()
	if err := next(t, done); err == nil {
		t.Error("Serve ends without an error")
	}
}

func TestPeerGoes(t *testing.T) {
	f := start(t)
	p := f.dial(t)
	p.ask(ping, "+PONG\r\n")
	p.Close()
	expectNext(t, f.closed, server.ReasonPeer)
}

// A client that has sent its commands and half closes still gets its replies.
func TestHalfClose(t *testing.T) {
	f := start(t)
	p := f.dial(t)
	p.send(pings(1000))
	if err := p.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	p.expect(pongs(1000))
	p.expectEnd()
	expectNext(t, f.closed, server.ReasonPeer)
}

func TestProtocolError(t *testing.T) {
	f := start(t)
	p := f.dial(t)
	p.ask(ping+"*1\r\n$x\r\n", "+PONG\r\n-ERR Protocol error: invalid bulk length\r\n")
	p.expectEnd()
	expectNext(t, f.closed, server.ReasonProtocol)
}

func TestPanic(t *testing.T) {
	for name, command := range map[string]string{"in Command": "BOOM", "in Start": "BOOMLATER"} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			other := f.dial(t)
			other.ask("ID\r\n", ":1\r\n")
			p := f.dial(t)
			p.ask("PING\r\n"+command+"\r\nPING\r\n", "+PONG\r\n-ERR internal error\r\n")
			p.expectEnd()
			expectNext(t, f.closed, server.ReasonPanic)
			if peer := next(t, f.panics); peer.ID != 2 || peer.Failed != command {
				t.Errorf("reported %+v", peer)
			}
			other.ask(ping, "+PONG\r\n")
		})
	}
}

func TestClients(t *testing.T) {
	f := start(t)
	p := f.dial(t)
	p.ask("NAME first\r\n", "+OK\r\n")
	infos := f.Clients()
	if len(infos) != 1 {
		t.Fatalf("%d clients", len(infos))
	}
	info := infos[0]
	if info.LastAt < info.CreatedAt || info.CreatedAt == 0 {
		t.Errorf("created %d, last seen %d", info.CreatedAt, info.LastAt)
	}
	info.CreatedAt, info.LastAt = 0, 0
	want := resp.ClientInfo{ID: 1, Name: "first", RemoteAddr: p.LocalAddr().String(), LocalAddr: f.addr}
	want.Proto = info.Proto
	if info != want {
		t.Errorf("got %+v, want %+v", info, want)
	}
}

// The registry is read and cut while clients come, talk and go.
func TestClientsRace(t *testing.T) {
	f := start(t)
	const clients, rounds = 8, 50
	var watch sync.WaitGroup
	stop := make(chan struct{})
	watch.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				f.Clients()
				f.Stats()
				f.Kill(func(info resp.ClientInfo) bool { return info.Name == "victim" })
			}
		}
	})
	t.Run("clients", func(t *testing.T) {
		for i := range clients {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				for range rounds {
					p := f.dial(t)
					p.ask("NAME other\r\n", "+OK\r\n")
					p.send("NAME victim\r\nPING\r\n")
					p.Close()
				}
			})
		}
	})
	close(stop)
	watch.Wait()
}
