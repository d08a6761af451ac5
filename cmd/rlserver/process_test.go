package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long anything may take that should be immediate.
const patience = 30 * time.Second

// process is a child that does not outlive its test.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when err is set
	err   error
}

// start starts a child. It is killed when the test ends, and by the kernel
// (where it can) when this process dies before it can see to that.
func start(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	diesWithParent(cmd)
	p := &process{cmd: cmd, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel takes the thread for the parent. This one lives as long as
		// the child, and ends with this goroutine as it is never unlocked.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
		close(p.ended)
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-p.ended
	})
	return p
}

func (p *process) wait(t *testing.T) error {
	t.Helper()
	select {
	case <-p.ended:
		return p.err
	case <-time.After(patience):
		t.Fatalf("%s still runs after %s", p.cmd.Path, patience)
		return nil
	}
}

// result is how a program ended.
type result struct {
	stdout, stderr string
	exit           int
}

// execute runs a program to its end.
func execute(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &stdout, &stderr, time.Second
	p := start(t, cmd)
	err := p.wait(t)
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", cmd.Path, err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// serverCommand is the server, with an environment and a folder of its own.
func serverCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "RLSERVER_") }),
		beServer+"=1", "GORACE=atexit_sleep_ms=0")
	cmd.Dir = t.TempDir()
	return cmd
}

// serverProcess is a server that is ready.
type serverProcess struct {
	*process

	log                          *serverLog
	addr, tlsAddr, atHTTP, atBus string // "off" where it does not listen
}

// startServer starts a server on ports that the system chooses. When the test
// ends it must stop when told to.
func startServer(t *testing.T, args ...string) *serverProcess {
	t.Helper()
	return startCommand(t, serverCommand(t, append([]string{
		"--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--log-format", "json", "--log-level", "debug", "--drain-timeout", "5s",
	}, args...)...))
}

func startCommand(t *testing.T, cmd *exec.Cmd) *serverProcess {
	t.Helper()
	s := &serverProcess{log: newServerLog()}
	cmd.Stderr = s.log
	s.process = start(t, cmd)
	ready := s.expectLog(t, "ready")
	s.addr, s.tlsAddr, s.atHTTP = ready["addr"].(string), ready["tls-addr"].(string), ready["admin-addr"].(string)
	s.atBus = ready["bus-addr"].(string)
	t.Cleanup(func() { s.stop(t) })
	return s
}

// stop tells the server to stop, and waits until it has.
func (s *serverProcess) stop(t *testing.T) {
	t.Helper()
	s.signal(t, syscall.SIGTERM)
	if err := s.wait(t); err != nil {
		t.Errorf("rlserver: %v\n%s", err, s.log)
	}
}

func (s *serverProcess) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

// expectLog waits for the first line with this message that was not expected
// before.
func (s *serverProcess) expectLog(t *testing.T, message string) map[string]any {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		line, more := s.log.take(message)
		if line != nil {
			return line
		}
		select {
		case <-more:
		case <-s.ended:
			if line, _ := s.log.take(message); line != nil {
				return line
			}
			t.Fatalf("rlserver ended without %q: %v\n%s", message, s.err, s.log)
		case <-ctx.Done():
			t.Fatalf("%q was not logged within %s\n%s", message, patience, s.log)
		}
	}
}

// serverLog is what a server logs as JSON.
type serverLog struct {
	mu    sync.Mutex
	text  bytes.Buffer
	taken int           // bytes of lines before the next that take looks at
	more  chan struct{} // closed, and replaced, when something is logged
}

func newServerLog() *serverLog { return &serverLog{more: make(chan struct{})} }

func (l *serverLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.more)
	l.more = make(chan struct{})
	return l.text.Write(p)
}

func (l *serverLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// take returns the next line with a message, or nil and what is closed when
// there is more to look at.
func (l *serverLog) take(message string) (map[string]any, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := l.text.Bytes()[l.taken:]
	for offset := l.taken; ; {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			return nil, l.more
		}
		var line map[string]any
		offset += end
		if json.Unmarshal(rest[:end], &line) == nil && line["msg"] == message {
			l.taken = offset
			return line, nil
		}
		rest = rest[end:]
	}
}
