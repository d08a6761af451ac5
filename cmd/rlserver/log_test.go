package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestLogFormats(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var b bytes.Buffer
		l := openLogs(&b, format, slog.LevelWarn)
		l.Info("not this")
		for range repeatMost + 3 {
			l.Warn("this", "key", "a \"b\"\n\x00")
		}
		l.close()
		if n := strings.Count(b.String(), "\n"); n != repeatMost+1 {
			t.Errorf("%s: %d lines\n%s", format, n, b.String())
		}
		if strings.Contains(b.String(), "not this") || !strings.Contains(b.String(), "left out") {
			t.Errorf("%s:\n%s", format, b.String())
		}
		for line := range strings.Lines(b.String()) {
			if format == "json" && !json.Valid([]byte(line)) {
				t.Errorf("no JSON: %s", line)
			}
		}
	}
}

// Who loses lines is told so, in the format of the log.
func TestLostLinesAreTold(t *testing.T) {
	g := newGate()
	l := openLogs(g, "json", slog.LevelDebug)
	l.Debug("first")
	<-g.arrived
	for range 2000 {
		l.Debug(strings.Repeat("x", 1000))
	}
	close(g.open)
	l.close()
	if got := g.String(); !strings.Contains(got, `"level":"WARN","msg":"log lines were lost: nobody read them in time","lines":1`) {
		t.Errorf("it ends with %s", got[max(0, len(got)-300):])
	}
}

// startPiped starts a server that logs into a pipe, of which only the line that
// tells the address has been read.
func startPiped(t *testing.T) (s *serverProcess, log *os.File) {
	t.Helper()
	log, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	cmd := serverCommand(t, "--addr", "127.0.0.1:0", "--admin-addr", "", "--log-format", "json", "--log-level", "debug", "--password", "pw")
	cmd.Stderr = to
	s = &serverProcess{process: start(t, cmd)}
	to.Close()
	if err := log.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	var ready struct{ Msg, Addr string }
	for lines := json.NewDecoder(log); ready.Msg != "ready"; {
		if err := lines.Decode(&ready); err != nil {
			t.Fatalf("%+v, %v", ready, err)
		}
	}
	s.addr = ready.Addr
	return s, log
}

// A log that nobody reads delays no decision, and not the end.
func TestBlockedLogReader(t *testing.T) {
	s, log := startPiped(t)
	c := dial(t, s.addr, nil)
	c.expect(t, "AUTH pw", "+OK")
	// Debug tells of the end of each: more than the pipe and the queue hold.
	const connections = 3000
	for range connections {
		other, err := tryDial(s.addr, nil)
		if err != nil {
			t.Fatal(err)
		}
		other.expect(t, "PING", "-NOAUTH")
		other.Close()
	}
	c.expect(t, "RL.ALLOW k 10 1h", "[:1 ")
	s.signal(t, syscall.SIGTERM)
	if err := s.wait(t); err != nil {
		t.Error(err)
	}
	text, err := io.ReadAll(log)
	if err != nil {
		t.Fatal(err)
	}
	if logged := strings.Count(string(text), "connection closed"); logged == 0 || logged >= connections {
		t.Errorf("%d of %d lines were logged: the pipe was not full", logged, connections)
	}
}

// The end of whoever reads the log does not end the server.
func TestLogReaderEnds(t *testing.T) {
	s, log := startPiped(t)
	log.Close()
	for range 10 {
		c := dial(t, s.addr, nil)
		c.expect(t, "AUTH nonsense", "-WRONGPASS")
		c.expect(t, "AUTH pw", "+OK")
		c.expect(t, "RL.ALLOW k 100 1h", "[:1 ")
		c.Close()
	}
	s.signal(t, syscall.SIGTERM)
	if err := s.wait(t); err != nil {
		t.Error(err)
	}
}
