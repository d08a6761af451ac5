package resp_test

import (
	"testing"

	"github.com/rlserver/rlserver/resp"
)

// A command that waits holds back what follows, not what was before.
func TestWait(t *testing.T) {
	c := newClient(t, &handler{})
	c.Received(copy(c.Buffer(), "PING\r\nWAIT a\r\nPING\r\nWAIT b\r\nECHO c\r\n"))
	for i, row := range []struct {
		out  string
		end  resp.Status
		wake bool
	}{
		{"+PONG\r\n", resp.StatusWait, true},
		{"$1\r\na\r\n+PONG\r\n", resp.StatusWait, true},
		{"$1\r\nb\r\n$1\r\nc\r\n", resp.StatusRead, false},
	} {
		status := c.Process(1)
		check(t, string(c.Output()), status, row.out, row.end)
		c.Sent(len(c.Output()))
		if row.wake {
			c.Start(func() {})
		}
		if got, want := len(c.handler.waits), min(i+1, 2); got != want {
			t.Fatalf("%d commands have begun, want %d", got, want)
		}
	}
}

// The output before a command that waits may stay until it is answered.
func TestWaitUnsent(t *testing.T) {
	c := newClient(t, &handler{lost: map[uint16]bool{3: true}})
	c.Received(copy(c.Buffer(), "PING\r\nWAIT a 3\r\nPING\r\n"))
	if status := c.Process(1); status != resp.StatusWait {
		t.Fatalf("status %d", status)
	}
	c.Sent(2)
	status := c.Process(1)
	check(t, string(c.Output()), status, "ONG\r\n+lost WAIT a 3\r\n+PONG\r\n", resp.StatusRead)
}

// A command may wait more than once, last in a transaction too.
func TestWaitAgain(t *testing.T) {
	out, status := newClient(t, &handler{}).send("MULTI\r\nWAIT a 1 again\r\nWAIT b 1 again\r\nEXEC\r\nMULTI\r\nPING\r\nEXEC\r\n")
	check(t, out, status, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n+OK\r\n+QUEUED\r\n*1\r\n+PONG\r\n", resp.StatusRead)
}

// QUIT behind a command that waits ends the session after it.
func TestWaitQuit(t *testing.T) {
	out, status := newClient(t, &handler{}).send("WAIT a\r\nQUIT\r\nPING\r\n")
	check(t, out, status, "$1\r\na\r\n+OK\r\n", resp.StatusClose)
}

// Close ends a session only after the transaction it was called in.
func TestCloseInExec(t *testing.T) {
	out, status := newClient(t, &handler{}).send("MULTI\r\nKILLME\r\nWAIT a\r\nPING\r\nEXEC\r\nPING\r\n")
	check(t, out, status, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n+OK\r\n$1\r\na\r\n+PONG\r\n", resp.StatusClose)
}
