package resp_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/resp"
)

// strangerBytes is what the command of a peer that has not authenticated may
// have.
const strangerBytes = 4 << 10

func newStranger(tb rapid.TB) *client {
	tb.Helper()
	return newClient(tb, &handler{open: func(s *resp.Session) { s.Authenticated = false }})
}

// padded is a command whose last argument fills it up to n bytes.
func padded(n int, words ...string) string {
	for size := n; ; size-- {
		in := command(append(words[:len(words):len(words)], strings.Repeat("a", size))...)
		if len(in) <= n {
			return in
		}
	}
}

// A stranger has little room, and gets more by authenticating, also in the
// same write.
func TestFramingStranger(t *testing.T) {
	const (
		failed   = "-ERR Protocol error: unauthenticated "
		pong     = "+PONG\r\n"
		notEcho  = "-ERR wrong number of arguments for 'echo' command\r\n"
		read     = resp.StatusRead
		gone     = resp.StatusClose
		inlineOf = strangerBytes - len("PING\n")
	)
	secret := strings.Repeat("s", 512)
	args11 := command(strings.Fields(strings.Repeat("PING ", 11))...)
	half := strings.Repeat("h", strangerBytes/2)
	for _, row := range []struct {
		name, in, out string
		end           resp.Status
	}{
		{"AUTH", command("AUTH", secret, secret), "+OK\r\n", read},
		{"inline AUTH", "AUTH " + secret + " " + secret + "\r\n", "+OK\r\n", read},
		{"HELLO", command("HELLO", "2", "AUTH", secret, secret, "SETNAME", secret), "*2\r\n$5\r\nproto\r\n:2\r\n", read},

		{"most arguments", command(strings.Fields(strings.Repeat("PING ", 10))...), pong, read},
		{"too many arguments", args11, failed + "multibulk length\r\n", gone},
		{"far too many arguments", "*2147483647\r\n", failed + "multibulk length\r\n", gone},
		{"more arguments than a number", "*2147483648\r\n", "-ERR Protocol error: invalid multibulk length\r\n", gone},

		{"longest command", padded(strangerBytes, "ECHO", "a"), notEcho, read},
		{"too long command", padded(strangerBytes+1, "ECHO", "a"), failed + "command length\r\n", gone},
		{"too long together", command("ECHO", half, half), failed + "command length\r\n", gone},
		{"too long by a short argument", command("ECHO", strings.Repeat("a", 4000), strings.Repeat("b", 99)), failed + "command length\r\n", gone},
		{"too long argument", "*2\r\n$4\r\nECHO\r\n$4097\r\n", failed + "bulk length\r\n", gone},
		{"argument beyond all bounds", "*2\r\n$4\r\nECHO\r\n$65537\r\n", "-ERR Protocol error: invalid bulk length\r\n", gone},
		{"endless count", "*" + strings.Repeat("1", strangerBytes), failed + "command length\r\n", gone},
		{"endless bulk length", "*1\r\n$" + strings.Repeat("1", strangerBytes), failed + "command length\r\n", gone},

		{"longest inline", strings.Repeat(" ", inlineOf) + "PING\n", pong, read},
		{"too long inline", strings.Repeat(" ", inlineOf+1) + "PING\n", failed + "inline length\r\n", gone},
		{"endless inline", strings.Repeat("a", strangerBytes), failed + "inline length\r\n", gone},
		{"most words", strings.Repeat("PING ", 10) + "\r\n", pong, read},
		{"too many words", strings.Repeat("PING ", 11) + "\r\n", failed + "inline length\r\n", gone},

		{"authenticated", command("AUTH", "x") + args11, "+OK\r\n" + pong, read},
		{"authenticated, a long line", "AUTH x\r\n" + strings.Repeat(" ", strangerBytes) + "PING\r\n", "+OK\r\n" + pong, read},
		{"authenticated, a long command", command("AUTH", "x") + command("NULL", half, half), "+OK\r\n$-1\r\n", read},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, pieces := range [][]string{{row.in}, bytewise(row.in)} {
				out, status := newStranger(t).send(pieces...)
				check(t, out, status, row.out, row.end)
			}
		})
	}
}

// Replies to a stranger leave before they are many.
func TestFlushStranger(t *testing.T) {
	c := newStranger(t)
	c.Received(copy(c.Buffer(), strings.Repeat("BIG 500\r\n", 5)))
	for _, want := range []int{3, 2} {
		c.Process(1)
		if got := strings.Count(string(c.Output()), "$"); got != want {
			t.Errorf("%d replies leave, want %d", got, want)
		}
		c.Sent(len(c.Output()))
	}
}

// A stranger holds little, whatever it sends and whether it reads.
func TestStrangerFootprint(t *testing.T) {
	const most = 6 << 10 // a command, replies of twice their bound at most
	for name, in := range map[string]string{
		"a deep pipeline":      strings.Repeat("PING\r\n", 10_000),
		"half a command":       padded(strangerBytes, "ECHO")[:strangerBytes-1],
		"half a command later": strings.Repeat("PING\r\n", 300) + padded(strangerBytes, "ECHO")[:strangerBytes-1],
		"quotes":               strings.Repeat(`ECHO "`+strings.Repeat("a", 100)+"\"\r\n", 100),
		"headers":              strings.Repeat("*10\r\n$1\r\n\r\n\r\n", 100),
	} {
		t.Run(name, func(t *testing.T) {
			c := newStranger(t)
			for rest := in; rest != ""; {
				n := copy(c.Buffer(), rest)
				c.Received(n)
				rest = rest[n:]
				for c.Process(1) == resp.StatusFlush {
					if got := c.Footprint(); got > most {
						t.Fatalf("footprint %d, at most %d expected", got, most)
					}
					c.Sent(len(c.Output()))
				}
				if got := c.Footprint(); got > most {
					t.Fatalf("footprint %d, at most %d expected", got, most)
				}
			}
		})
	}
}

// Who was let in and is a stranger again does not keep what it had.
func TestStrangerAgain(t *testing.T) {
	c := newClient(t, &handler{})
	c.send(strings.Repeat(command("ECHO", "a"), 5000))
	if got := c.Footprint(); got < 32<<10 {
		t.Fatalf("footprint %d: that shows nothing", got)
	}
	c.Authenticated = false
	out, status := c.send("PING\r\n", "PING\r\n")
	check(t, out, status, "+PONG\r\n+PONG\r\n", resp.StatusRead)
	c.Rest()
	c.Buffer()
	if got := c.Footprint(); got > 2<<10 {
		t.Errorf("footprint %d", got)
	}
}
