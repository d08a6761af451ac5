package resp_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rlserver/rlserver/resp"
)

// TestFramingAsRedis sends the rows of TestFraming to a Redis, where there is
// one.
func TestFramingAsRedis(t *testing.T) {
	dial := startRedis(t)
	for _, row := range framings() {
		if row.not != "" {
			continue
		}
		t.Run(row.name, func(t *testing.T) {
			c := dial(t)
			if _, err := io.WriteString(c, row.in); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len(row.out))
			if n, err := io.ReadFull(c, got); err != nil {
				t.Fatalf("Redis answers %s, want %s: %v", short(string(got[:n])), short(row.out), err)
			}
			if string(got) != row.out {
				t.Errorf("Redis answers %s, want %s", short(string(got)), short(row.out))
			}
			if row.end == resp.StatusRead {
				if err := c.CloseWrite(); err != nil { // else it closes first
					t.Fatal(err)
				}
			}
			if rest, err := io.ReadAll(c); len(rest) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("then Redis answers %s, %v; want an end", short(string(rest)), err)
			}
		})
	}
}

// startRedis starts a redis-server that ends with the test.
func startRedis(t *testing.T) (dial func(*testing.T) *net.UnixConn) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("no redis-server to compare with")
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, "socket")
	cmd := exec.CommandContext(t.Context(), path, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir)
	log, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // it was killed
	})
	for lines := bufio.NewScanner(log); ; {
		if !lines.Scan() {
			t.Fatal("redis-server does not start")
		}
		if strings.Contains(lines.Text(), "ready to accept connections") {
			break
		}
	}
	return func(t *testing.T) *net.UnixConn {
		t.Helper()
		c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		return c
	}
}
