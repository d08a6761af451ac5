package compat

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// peer is one of the two servers that are compared.
type peer struct{ network, addr string }

func (p peer) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout(p.network, p.addr, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// startRedis starts the reference on a socket file, so that it takes no port.
func startRedis(t *testing.T, args ...string) peer {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		const why = "redis-server is not installed (Debian: apt-get install redis-server); nothing was compared"
		if os.Getenv("CI") == "true" {
			t.Fatal(why)
		}
		t.Skip("*** " + why)
	}
	dir := t.TempDir()
	p := peer{"unix", filepath.Join(dir, "s")}
	start(t, exec.CommandContext(t.Context(), binary,
		append([]string{"--port", "0", "--unixsocket", p.addr, "--save", "", "--databases", "1", "--dir", dir, "--logfile", "log"}, args...)...))
	deadline, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		conn, err := net.Dial(p.network, p.addr)
		if err == nil {
			conn.Close()
			tick.Stop()
			return p
		}
		select {
		case <-deadline.Done():
			t.Fatalf("redis-server does not listen: %v", err)
		case <-tick.C:
		}
	}
}

// startServer starts rlserver on a port that the system chooses; its log says
// which. Its state is in a folder that goes with the test.
func startServer(t *testing.T, args ...string) peer {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), build(t), append([]string{"--addr", "127.0.0.1:0", "--dir", t.TempDir(), "--log-format", "json"}, args...)...)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, cmd)
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		var line struct{ Msg, Addr string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "ready" {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return peer{"tcp", line.Addr}
		}
		t.Log(lines.Text())
	}
	t.Fatal("rlserver ended before it was ready")
	return peer{}
}

// build makes the command that is compared.
func build(t *testing.T) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "rlserver")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, "github.com/rlserver/rlserver/cmd/rlserver")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// start runs a process until the test ends.
func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}
