package admin

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// browser is a headless Chromium. It is spoken to in the DevTools protocol:
// JSON messages that end in a NUL, over two pipes.
type browser struct {
	to   *os.File
	done chan struct{} // the browser is gone

	mu      sync.Mutex
	lastID  int
	answers map[int]chan<- message
	events  []message // that nobody waited for yet
	arrived chan struct{}
}

// message is an answer (ID), or an event (Method).
type message struct {
	ID        int             `json:"id,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *struct{ Message string }
}

// browserPatience is how long the browser may take for anything.
const browserPatience = 60 * time.Second

var errBrowser = errors.New("the browser is gone, or does not answer")

// startBrowser starts Chromium until the test ends.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		missing(t, "chromium", "the status page is not looked at")
	}
	theirIn, ourOut := pipe(t)
	ourIn, theirOut := pipe(t)
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--host-resolver-rules=MAP rebound.test 127.0.0.1", "--user-data-dir="+t.TempDir(), "--remote-debugging-pipe")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // descriptors 3 and 4
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = theirIn.Close(), theirOut.Close()
	b := &browser{to: ourOut, done: make(chan struct{}), answers: make(map[int]chan<- message), arrived: make(chan struct{}, 1)}
	go b.read(ourIn)
	t.Cleanup(func() {
		_ = b.send("", "Browser.close", nil, nil) // it may answer or be gone first
		_ = ourOut.Close()
		select {
		case <-b.done:
		case <-time.After(browserPatience):
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // helpers that linger
		_ = cmd.Wait()
		<-b.done
		_ = ourIn.Close()
	})
	return b
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// read takes messages until the browser is gone.
func (b *browser) read(from *os.File) {
	defer close(b.done)
	in := bufio.NewReader(from)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			return
		}
		b.mu.Lock()
		if answer := b.answers[m.ID]; answer != nil {
			delete(b.answers, m.ID)
			answer <- m
		} else if m.Method != "" {
			b.events = append(b.events, m)
			select {
			case b.arrived <- struct{}{}:
			default:
			}
		}
		b.mu.Unlock()
	}
}

// send sends a command to a tab, or to the browser if session is empty, and
// stores its result.
func (b *browser) send(session, method string, params, result any) error {
	answer := make(chan message, 1)
	b.mu.Lock()
	b.lastID++
	command := struct {
		ID        int    `json:"id"`
		SessionID string `json:"sessionId,omitempty"`
		Method    string `json:"method"`
		Params    any    `json:"params,omitempty"`
	}{b.lastID, session, method, params}
	b.answers[command.ID] = answer
	b.mu.Unlock()
	text, err := json.Marshal(command)
	if err != nil {
		return err
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		return err
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return errors.New(m.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-b.done:
	case <-time.After(browserPatience):
	}
	return errBrowser
}

// event waits for an event of a tab, takes it and stores its parameters.
func (b *browser) event(session, method string, params any) error {
	patience := time.After(browserPatience)
	for {
		if m, found := b.take(session, method); found {
			if params == nil {
				return nil
			}
			return json.Unmarshal(m.Params, params)
		}
		select {
		case <-b.arrived:
		case <-b.done:
			return errBrowser
		case <-patience:
			return errBrowser
		}
	}
}

func (b *browser) take(session, method string) (message, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, m := range b.events {
		if m.SessionID == session && m.Method == method {
			b.events = append(b.events[:i], b.events[i+1:]...)
			return m, true
		}
	}
	return message{}, false
}

// complaints are the exceptions and the warnings of a tab so far.
func (b *browser) complaints(session string) (texts []string) {
	for _, method := range []string{"Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"} {
		for m, found := b.take(session, method); found; m, found = b.take(session, method) {
			texts = append(texts, fmt.Sprintf("%s %s", method, m.Params))
		}
	}
	return texts
}
