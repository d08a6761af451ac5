package resp_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

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
		if os.Getenv("CI") == "true" {
			t.Fatal("no redis-server to compare with")
		}
		t.Skip("*** no redis-server to compare with: scripts/install-test-deps installs it")
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

// TestNoiseAsRedis sends what is nearly the protocol: pieces of headers, quotes
// and line ends in any order.
func TestNoiseAsRedis(t *testing.T) {
	dial := startRedis(t)
	pieces := []string{
		"*0", "*1", "*2", "*3", "*-1", "*", "$0", "$1", "$4", "$-1", "$", "+", "-", "0", "1", "\r\n", "\r\n", "\r\n", "\r", "\n",
		"ECHO", "echo ", "ECHO a", "a", "ab", "nope", "QUIT", " ", "\t", "\v", "\f", "\a", "\b", "\x7f", "\x80", "\xff",
		`"`, "'", `\`, `\"`, `\'`, `\n`, `\x41`, "PING\r\n", command("PING"), command("ECHO", "abc"),
	}
	rapid.Check(t, func(rt *rapid.T) {
		in := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 20).Draw(rt, "pieces"), "")
		if regexp.MustCompile(`\*\d{4}`).MatchString(in) {
			return // MaxArgs is less than Redis' million
		}
		got, _ := newClient(t, &handler{}).send(in)
		c := dial(t)
		if _, err := io.WriteString(c, in); err != nil {
			rt.Fatal(err)
		}
		if err := c.CloseWrite(); err != nil && !errors.Is(err, syscall.ENOTCONN) { // it may have closed already
			rt.Fatal(err)
		}
		want, err := io.ReadAll(c)
		if err != nil && !errors.Is(err, syscall.ECONNRESET) {
			rt.Fatal(err)
		}
		if err := c.Close(); err != nil {
			rt.Fatal(err)
		}
		if got != string(want) {
			rt.Errorf("%q: got %s, Redis answers %s", in, short(got), short(string(want)))
		}
	})
}
