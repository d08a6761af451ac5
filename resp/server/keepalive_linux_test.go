package server_test

import (
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/rlserver/rlserver/resp/server"
)

// accepted hands out the sockets that a listener accepts.
type accepted struct {
	net.Listener

	conns chan *net.TCPConn
}

func (a accepted) Accept() (net.Conn, error) {
	c, err := a.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		a.conns <- tcp
	}
	return c, err
}

// A peer that vanished without a word is found by probes.
func TestKeepAlive(t *testing.T) {
	for _, row := range []struct {
		name           string
		keepAlive      time.Duration
		idle, interval int // seconds
	}{
		{"by default", server.DefaultConfig().KeepAlive, 300, 100},
		{"by choice", time.Minute, 60, 20},
		{"as the listener has it", 0, 15, 15},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newFixture(t, func(c *server.Config) { c.KeepAlive = row.keepAlive })
			ln := accepted{listen(t), make(chan *net.TCPConn, 1)}
			f.addr = ln.Addr().String()
			f.serve(t, ln)
			f.dial(t).ask(ping, "+PONG\r\n")
			raw, err := next(t, ln.conns).SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			if err := raw.Control(func(fd uintptr) {
				for _, option := range []struct{ level, name, want int }{
					{syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
					{syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, row.idle},
					{syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, row.interval},
				} {
					if got, err := syscall.GetsockoptInt(int(fd), option.level, option.name); err != nil || got != option.want {
						t.Errorf("option %d is %d, %v; want %d", option.name, got, err, option.want)
					}
				}
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}
