package resp_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlserver/rlserver/resp"
)

// panicking is a command whose Finish panics.
type panicking struct{}

func (panicking) Start(wake func()) { wake() }

func (panicking) Finish(_ *resp.Session, w *resp.Writer, _ int64) {
	w.Simple("secret")
	panic("secret")
}

// A panic ends its session with an error that tells nothing; what was
// answered before it leaves.
func TestPanic(t *testing.T) {
	for _, row := range []struct {
		name, in, out string
	}{
		{"alone", "BOOM\r\nPING\r\n", "-ERR internal error\r\n"},
		{"in a pipeline", "PING\r\nECHO a\r\nBOOM\r\nPING\r\n", "+PONG\r\n$1\r\na\r\n-ERR internal error\r\n"},
		{"in EXEC", "MULTI\r\nPING\r\nBOOM\r\nPING\r\nEXEC\r\n", "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n+PONG\r\n-ERR internal error\r\n"},
		{"not answered", "CLIENT REPLY OFF\r\nBOOM\r\n", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newClient(t, &handler{})
			out, status := c.send(row.in)
			check(t, out, status, row.out, resp.StatusClose)
			if diff := cmp.Diff([]any{"secret"}, c.panics); diff != "" {
				t.Errorf("panics (-want +got):\n%s", diff)
			}
			if got := c.Info().Failed; got != "BOOM" {
				t.Errorf("Failed = %q, want BOOM", got)
			}
			if status := c.Process(1); status != resp.StatusClose || len(c.Output()) > 0 {
				t.Errorf("then status %d, output %q", status, c.Output())
			}
		})
	}
}

func TestPanicInOpen(t *testing.T) {
	c := newClient(t, &handler{open: func(*resp.Session) { panic("secret") }})
	if status := c.Process(1); status != resp.StatusClose || string(c.Output()) != "-ERR internal error\r\n" {
		t.Errorf("status %d, output %q", status, c.Output())
	}
	if len(c.panics) != 1 || c.Info().Failed != "" {
		t.Errorf("panics %v, Failed %q", c.panics, c.Info().Failed)
	}
}

// unstartable is a command whose Start panics, after it has woken or before.
type unstartable struct{ wakes bool }

func (p unstartable) Start(wake func()) {
	if p.wakes {
		wake()
	}
	panic("secret")
}

func (unstartable) Finish(_ *resp.Session, w *resp.Writer, _ int64) { w.Simple("secret") }

// A Start that panics cuts its own reply, and nothing of what is before it,
// whether that has left or not.
func TestPanicInStart(t *testing.T) {
	for _, wakes := range []bool{false, true} {
		for _, sent := range []bool{false, true} {
			c := newClient(t, &handler{})
			c.Received(copy(c.Buffer(), "DECIDE 1\r\nWAIT a 3\r\nPING\r\n"))
			if status := c.Process(1); status != resp.StatusWait {
				t.Fatalf("status %d", status)
			}
			out := string(c.Output())
			if sent {
				c.Sent(len(out))
				out = ""
			}
			c.Wait(unstartable{wakes}) // instead of the one that waits
			woken := 0
			c.Start(func() { woken++ })
			if woken == 0 {
				t.Error("not woken")
			}
			status := c.Process(1)
			if !sent && out != "*1\r\n:1\r\n" {
				t.Errorf("output %q", out)
			}
			check(t, string(c.Output()), status, out+"-ERR internal error\r\n", resp.StatusClose)
			if got := c.Info().Failed; got != "WAIT" {
				t.Errorf("Failed = %q, want WAIT", got)
			}
		}
	}
}

func TestPanicInFinish(t *testing.T) {
	c := newClient(t, &handler{lost: map[uint16]bool{3: true}})
	c.Received(copy(c.Buffer(), "DECIDE 3\r\nWAIT a\r\n"))
	if status := c.Process(1); status != resp.StatusWait {
		t.Fatalf("status %d", status)
	}
	c.Wait(panicking{}) // instead of the one that waits
	status := c.Process(1)
	check(t, string(c.Output()), status, "+lost DECIDE 3\r\n-ERR internal error\r\n", resp.StatusClose)
	if got := c.Info().Failed; got != "WAIT" {
		t.Errorf("Failed = %q, want WAIT", got)
	}
}

// What could not be settled does not leave.
func TestPanicInSettle(t *testing.T) {
	c := newClient(t, &handler{onSettle: func() { panic("secret") }})
	out, status := c.send("PING\r\nDECIDE 1\r\n")
	check(t, out, status, "-ERR internal error\r\n", resp.StatusClose)
	if len(c.panics) != 1 {
		t.Errorf("panics %v, want one", c.panics)
	}
}

func TestPanicInReplace(t *testing.T) {
	h := &handler{lost: map[uint16]bool{3: true}, replace: func(w *resp.Writer) {
		w.Simple("secret")
		panic("secret")
	}}
	c := newClient(t, h)
	out, status := c.send("PING\r\nDECIDE 1\r\nDECIDE 3\r\nDECIDE 1\r\n")
	check(t, out, status, "-ERR internal error\r\n", resp.StatusClose)
	if got := c.Info().Failed; got != "DECIDE" || len(c.panics) != 1 {
		t.Errorf("Failed = %q, panics %v", got, c.panics)
	}
}

// A command whose decisions are to be settled and one that panics meet a
// Settle that panics too: two reports, one line.
func TestPanicTwice(t *testing.T) {
	c := newClient(t, &handler{onSettle: func() { panic("second") }})
	out, status := c.send("DECIDE 1\r\nBOOM\r\n")
	check(t, out, status, "-ERR internal error\r\n", resp.StatusClose)
	if diff := cmp.Diff([]any{"secret", "second"}, c.panics); diff != "" {
		t.Errorf("panics (-want +got):\n%s", diff)
	}
}

// The secret is in no session's output, and other sessions go on.
func TestPanicIsAlone(t *testing.T) {
	h := &handler{}
	a, b := newClient(t, h), newClient(t, h)
	out, _ := a.send("BOOM\r\n")
	if strings.Contains(out, "secret") {
		t.Errorf("answer %q", out)
	}
	out, status := b.send("PING\r\n")
	check(t, out, status, "+PONG\r\n", resp.StatusRead)
}
