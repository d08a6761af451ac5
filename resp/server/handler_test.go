package server_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/rlserver/rlserver/resp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handler is the smallest server that can show what a driver does.
type handler struct {
	password bool // clients begin as strangers

	held    chan struct{} // a command has begun to wait
	unblock chan struct{}

	mu    sync.Mutex
	waits []func() // wakes the commands that wait
}

func newHandler() *handler {
	return &handler{held: make(chan struct{}, 100), unblock: make(chan struct{})}
}

func (h *handler) Open(s *resp.Session) { s.Authenticated = !h.password }

func (h *handler) Command(s *resp.Session, w *resp.Writer, args [][]byte, _ int64) {
	switch name := strings.ToUpper(string(args[0])); name {
	case "PING":
		w.Simple("PONG")
	case "ECHO":
		w.Bulk(args[1])
	case "ID":
		w.Int(s.ID())
	case "NAME":
		name := string(args[1])
		s.Describe(func(info *resp.ClientInfo) { info.Name = name })
		w.Simple("OK")
	case "AUTH":
		s.Authenticated = true
		w.Simple("OK")
	case "QUIT":
		w.Simple("OK")
		s.Close()
	case "BIG":
		n, err := strconv.Atoi(string(args[1]))
		if err != nil {
			panic(err)
		}
		w.BulkString(strings.Repeat("x", n))
	case "QUEUE": // begins a transaction that queues its argument
		s.Multi(w)
		s.Queue(w, args)
	case "BLOCK": // holds the goroutine of the connection
		h.held <- struct{}{}
		<-h.unblock
		w.Simple("OK")
	case "HOLD": // answers when release is called
		s.Wait(pending{h})
	case "LATER": // its argument, when release is called
		s.Defer(later{pending{h}, string(args[1])})
	case "ELSEWHERE": // its argument, from another goroutine
		s.Defer(elsewhere{string(args[1])})
	case "BOOM":
		panic("secret")
	case "BOOMLATER":
		s.Wait(bomb{})
	default:
		w.Error("ERR unknown command")
	}
}

func (h *handler) Settle(*resp.Session, []resp.Decided) {}

func (h *handler) Replace(*resp.Session, *resp.Writer, [][]byte, int64) {}

// release lets the commands answer that wait.
func (h *handler) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, wake := range h.waits {
		wake()
	}
	h.waits = nil
}

// pending is a command that waits.
type pending struct{ h *handler }

func (p pending) Start(wake func()) {
	p.h.mu.Lock()
	p.h.waits = append(p.h.waits, wake)
	p.h.mu.Unlock()
	p.h.held <- struct{}{}
}

func (p pending) Finish(_ *resp.Session, w *resp.Writer, _ int64) { w.Simple("RELEASED") }

// later is a command that was deferred.
type later struct {
	pending

	text string
}

func (p later) Finish(_ *resp.Session, w *resp.Writer, _ int64) { w.Simple(p.text) }

// elsewhere is one that wakes at once.
type elsewhere struct{ text string }

func (elsewhere) Start(wake func()) { go wake() }

func (p elsewhere) Finish(_ *resp.Session, w *resp.Writer, _ int64) { w.Simple(p.text) }

// bomb fails where the session does not run a command.
type bomb struct{}

func (bomb) Start(func()) { panic("secret") }

func (bomb) Finish(*resp.Session, *resp.Writer, int64) {}

// unopenable is a handler that fails to open its first session.
type unopenable struct {
	resp.Handler

	once sync.Once
}

func (h *unopenable) Open(s *resp.Session) {
	h.once.Do(func() { panic("secret") })
	h.Handler.Open(s)
}
