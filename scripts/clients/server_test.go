package clients

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startServer starts a server of the test's own, in a folder of its own, on a
// port that the system chooses, and returns its address, that of TLS where
// flags leave only that. When the test ends it
// must stop when told to, without having logged an error.
func startServer(t *testing.T, flags ...string) string {
	t.Helper()
	log := &serverLog{ready: make(chan string, 1)}
	dir := t.TempDir()
	cmd := exec.Command(filepath.Join(bin, "rlserver"), append([]string{"--addr", "127.0.0.1:0", "--dir", filepath.Join(dir, "data"), "--log-format", "json", "--drain-timeout", "1s"}, flags...)...)
	cmd.Dir = dir
	cmd.Stderr = log
	p := start(t, cmd)
	select {
	case addr := <-log.ready:
		t.Cleanup(func() { stopServer(t, p, log) })
		return addr
	case <-p.ended:
		t.Fatalf("rlserver ended: %v\n%s", p.err, log)
	case <-time.After(patience):
		t.Fatalf("rlserver is not ready after %s\n%s", patience, log)
	}
	return ""
}

func stopServer(t *testing.T, p *process, log *serverLog) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("rlserver ended before it was told to: %v", err)
	}
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Errorf("rlserver still runs %s after SIGTERM", patience)
		return
	}
	if p.err != nil || strings.Contains(log.String(), `"level":"ERROR"`) {
		t.Errorf("rlserver: %v\n%s", p.err, log)
	}
}

// serverLog is what a server logs; it finds in it where the server serves.
type serverLog struct {
	ready chan string

	mu   sync.Mutex
	text bytes.Buffer
	told bool
}

func (l *serverLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	lines := bufio.NewScanner(bytes.NewReader(l.text.Bytes()))
	for !l.told && lines.Scan() {
		var line struct {
			Msg, Addr string
			TLSAddr   string `json:"tls-addr"`
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "ready" {
			l.told = true
			if line.Addr == "" || line.Addr == "off" {
				line.Addr = line.TLSAddr
			}
			l.ready <- line.Addr
		}
	}
	return len(p), nil
}

func (l *serverLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// split is net.SplitHostPort for an address that is one.
func split(t *testing.T, addr string) (host, port string) {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}
