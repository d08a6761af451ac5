package commands_test

import (
	"testing"

	"github.com/rlserver/rlserver/resp"
)

const millisecond = int64(1_000_000)

// asker is a client that may have to wait.
type asker struct {
	t     *testing.T
	w     *world
	s     *resp.Session
	waits bool
	woken bool
}

func (w *world) asker(t *testing.T, id int64) *asker {
	t.Helper()
	return &asker{t: t, w: w, s: w.connect(id)}
}

// ask sends a line, and expects its answer; "": it has to wait.
func (a *asker) ask(line, want string) {
	a.t.Helper()
	a.s.Received(copy(a.s.Buffer(), line+"\r\n"))
	a.expect(line, want)
}

// later expects the answer of what has waited.
func (a *asker) later(want string) {
	a.t.Helper()
	if !a.woken {
		a.t.Errorf("still waits for %q", want)
		return
	}
	a.expect("later", want)
}

func (a *asker) expect(what, want string) {
	a.t.Helper()
	out := ""
	for {
		status := a.s.Process(a.w.now)
		out += string(a.s.Output())
		a.s.Sent(len(a.s.Output()))
		if a.waits = status == resp.StatusWait; a.waits {
			a.woken = false
			a.s.Start(func() { a.woken = true })
		}
		if again := status == resp.StatusFlush || a.waits && a.woken; !again {
			break
		}
	}
	got := ""
	if out != "" {
		got = show(a.t, []byte(out))
	}
	if want != "" {
		want += "\n"
	}
	if got != want || a.waits != (want == "") {
		a.t.Errorf("%s: %q, waits: %t; want %q", what, got, a.waits, want)
	}
}

// What may change a bucket waits until the pause is over; the rest does not.
func TestPauseWrites(t *testing.T) {
	w := newWorld(t)
	admin, a, b := w.asker(t, 11), w.asker(t, 12), w.asker(t, 13)
	admin.ask("CLIENT PAUSE 1000 WRITE", "OK")
	a.ask("PING", "PONG")
	a.ask("TTL k", "-2")
	a.ask("RL.ALLOW k 2 1h", "")
	b.ask("DEL k", "")
	w.advance(999 * millisecond)
	if a.woken || b.woken {
		t.Error("woken before the pause is over")
	}
	w.advance(millisecond)
	a.later("[1 2 1 0 1800000]")
	b.later("1")
	a.ask("RL.ALLOW k 2 1h", "[1 2 1 0 1800000]")
}

// In a pause of all everybody waits, but for who ends it.
func TestPauseAll(t *testing.T) {
	w := newWorld(t)
	admin, a := w.asker(t, 11), w.asker(t, 12)
	admin.ask("CLIENT PAUSE 1000", "OK")
	a.ask("PING", "")
	admin.ask("CLIENT UNPAUSE", "OK")
	a.later("PONG")
	a.ask("PING", "PONG")
	w.advance(1000 * millisecond) // the timer that is left does nothing
	admin.ask("CLIENT PAUSE 100 ALL", "OK")
	a.ask("CLIENT NOSUCH", "(error) ERR unknown subcommand 'NOSUCH'. Try CLIENT HELP.")
	a.ask("NOSUCH", "(error) ERR unknown command 'NOSUCH', with args beginning with: ")
	admin.ask("PING", "")
	a.ask("ECHO hello", "")
	w.advance(100 * millisecond)
	admin.later("PONG")
	a.later(`"hello"`)
}

// A second pause makes the first no shorter and no weaker.
func TestPauseAgain(t *testing.T) {
	w := newWorld(t)
	admin, a := w.asker(t, 11), w.asker(t, 12)
	admin.ask("CLIENT PAUSE 1000 WRITE", "OK")
	admin.ask("CLIENT PAUSE 100 WRITE", "OK")
	a.ask("RL.ALLOW k 2 1h", "")
	w.advance(500 * millisecond)
	admin.ask("CLIENT PAUSE 1000 ALL", "OK")
	w.advance(999 * millisecond)
	if a.woken {
		t.Error("woken by the end of the first pause")
	}
	w.advance(millisecond)
	a.later("[1 2 1 0 1800000]")

	admin.ask("CLIENT PAUSE 0", "OK")
	a.ask("PING", "PONG")
	admin.ask("CLIENT PAUSE 9223372036854775807", "OK")
	a.ask("PING", "")
	w.handler.Unpause()
	a.later("PONG")
}

// A transaction that writes waits as a whole, one that began does not; what is
// queued waits, too.
func TestPauseTransactions(t *testing.T) {
	w := newWorld(t)
	admin, writes, reads := w.asker(t, 11), w.asker(t, 12), w.asker(t, 13)
	writes.ask("MULTI", "OK")
	writes.ask("RL.ALLOW k 2 1h", "QUEUED")
	reads.ask("MULTI", "OK")
	reads.ask("TTL k", "QUEUED")
	admin.ask("CLIENT PAUSE 1000 WRITE", "OK")
	writes.ask("EXEC", "")
	reads.ask("EXEC", "[-2]")
	reads.ask("MULTI", "OK")
	reads.ask("RL.ALLOW k 2 1h", "")
	w.advance(1000 * millisecond)
	writes.later("[[1 2 1 0 1800000]]")
	reads.later("QUEUED")
	reads.ask("EXEC", "[[1 2 0 0 3600000]]")
}

// Who waited is who they are when the pause is over, and what they asked is
// checked then.
func TestPauseKeepsTheOrder(t *testing.T) {
	w := newWorld(t)
	admin, a := w.asker(t, 11), w.asker(t, 12)
	admin.ask("CLIENT PAUSE 1000 WRITE", "OK")
	a.ask("CLIENT REPLY SKIP\r\nRL.ALLOW k 2 1h\r\nPING\r\nRL.ALLOW k 2 1h", "")
	w.advance(1000 * millisecond)
	a.later("PONG\n[1 2 0 0 3600000]")
}
