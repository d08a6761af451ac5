package resp_test

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"weak"

	"github.com/rlserver/rlserver/resp"
)

func TestLimitsValidate(t *testing.T) {
	lim := resp.DefaultLimits()
	if err := lim.Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	lim = resp.Limits{MaxBulk: 1 << 30}
	err := lim.Validate()
	if err == nil {
		t.Fatal("all is accepted")
	}
	for _, name := range []string{"max args", "max bulk", "max inline", "max query", "max output", "max batch", "max multi"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q is not reported: %v", name, err)
		}
	}
}

// A command may have many arguments or long ones, not both: up to the last
// byte before its end it has at most MaxQuery.
func TestMaxQuery(t *testing.T) {
	words := append([]string{"ECHO"}, strings.Fields(strings.Repeat(strings.Repeat("a", 512)+" ", 8))...)
	largest := command(words...)
	for len(largest)-len("\r\n") > tightQuery {
		words[8] = words[8][1:]
		largest = command(words...)
	}
	tooLarge := command(append(words[:8:8], words[8]+"a")...)
	for _, in := range []string{largest, tooLarge, command("ECHO", words[8], words[7])} {
		out, status := newClient(t, &handler{}, tightLimits).send(in)
		if in == tooLarge {
			check(t, out, status, "-ERR Protocol error: too big command\r\n", resp.StatusClose)
		} else {
			check(t, out, status, "-ERR wrong number of arguments for 'echo' command\r\n", resp.StatusRead)
		}
	}
}

func TestInlineBounds(t *testing.T) {
	for _, row := range []struct {
		in  string
		out string
		end resp.Status
	}{
		{"ECHO " + strings.Repeat("a", 512) + "\r\n", "$512\r\n" + strings.Repeat("a", 512) + "\r\n", resp.StatusRead},
		{"ECHO " + strings.Repeat("a", 513) + "\r\n", "-ERR Protocol error: too big inline request\r\n", resp.StatusClose},
		{"ECHO" + strings.Repeat(" a", 15) + "\r\n", "-ERR wrong number of arguments for 'echo' command\r\n", resp.StatusRead},
		{"ECHO" + strings.Repeat(" a", 16) + "\r\n", "-ERR Protocol error: too big inline request\r\n", resp.StatusClose},
	} {
		out, status := newClient(t, &handler{}, tightLimits).send(row.in)
		check(t, out, status, row.out, row.end)
	}
}

// A transaction has bounds of its own; EXEC fails then, and the session lives.
func TestMaxMulti(t *testing.T) {
	const abort = "-EXECABORT Transaction discarded because of previous errors.\r\n+PONG\r\n"
	long := command("ECHO", strings.Repeat("a", 500))
	for _, row := range []struct {
		name, in, out string
	}{
		{
			"commands", strings.Repeat("PING\r\n", 5),
			"+OK\r\n" + strings.Repeat("+QUEUED\r\n", 4) + "-ERR a transaction holds at most 4 commands\r\n" + abort,
		},
		{
			"bytes", strings.Repeat(long, 4),
			"+OK\r\n" + strings.Repeat("+QUEUED\r\n", 3) + "-ERR a transaction holds at most 2000 bytes\r\n" + abort,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newClient(t, &handler{}, tightLimits, func(l *resp.Limits) { l.MaxQuery = 2000 })
			out, status := c.send("MULTI\r\n" + row.in + "EXEC\r\nPING\r\n")
			check(t, out, status, row.out, resp.StatusRead)
		})
	}
}

// A queue is as large as a transaction, however many are in a batch.
func TestMaxMultiEach(t *testing.T) {
	one := "MULTI\r\n" + strings.Repeat("PING\r\n", 4) + "EXEC\r\n"
	want := "+OK\r\n" + strings.Repeat("+QUEUED\r\n", 4) + "*4\r\n" + strings.Repeat("+PONG\r\n", 4)
	out, status := newClient(t, &handler{}, tightLimits, func(l *resp.Limits) { l.MaxBatch = 1000 }).send(strings.Repeat(one, 20))
	check(t, out, status, strings.Repeat(want, 20), resp.StatusRead)
}

// Replies leave before they are too many, by number or by size; what is left
// of the input waits for that.
func TestFlush(t *testing.T) {
	for _, row := range []struct {
		name, in string
		replies  []int // of each batch
	}{
		{"commands", strings.Repeat("PING\r\n", 12), []int{5, 5, 2}},
		{"as many commands as a batch has", strings.Repeat("PING\r\n", 5), []int{5, 0}},
		{"bytes", strings.Repeat("BIG 1000\r\n", 5), []int{3, 2}},
		{"large replies", "BIG 100000\r\nBIG 100000\r\nPING\r\n", []int{1, 1, 1}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newClient(t, &handler{}, tightLimits)
			c.Received(copy(c.Buffer(), row.in))
			for i, want := range row.replies {
				end := resp.StatusFlush
				if i == len(row.replies)-1 {
					end = resp.StatusRead
				}
				status, out := c.Process(1), string(c.Output())
				if got := strings.Count(out, "+PONG") + strings.Count(out, "$"); got != want || status != end {
					t.Errorf("batch %d: %d replies, status %d; want %d, status %d", i, got, status, want, end)
				}
				c.Sent(len(out))
			}
		})
	}
}

// While too much has not left, nothing more is run.
func TestFlushUnsent(t *testing.T) {
	c := newClient(t, &handler{}, tightLimits)
	c.Received(copy(c.Buffer(), "BIG 3000\r\nPING\r\n"))
	for range 3 {
		if status := c.Process(1); status != resp.StatusFlush || len(c.Output()) < 3000 {
			t.Fatalf("status %d, %d bytes of output", status, len(c.Output()))
		}
	}
	c.Sent(len(c.Output()))
	status := c.Process(1)
	check(t, string(c.Output()), status, "+PONG\r\n", resp.StatusRead)
}

// A driver may send less than all. What is left stays in order, and does not
// make the output grow for ever.
func TestSentInParts(t *testing.T) {
	c := newClient(t, &handler{})
	var in, want, got strings.Builder
	for i := range 20_000 {
		text := strconv.Itoa(i)
		in.WriteString(command("ECHO", text))
		fmt.Fprintf(&want, "$%d\r\n%s\r\n", len(text), text)
	}
	status := resp.StatusFlush
	for rest := in.String(); rest != "" || status == resp.StatusFlush; {
		if rest != "" {
			n := copy(c.Buffer(), rest)
			c.Received(n)
			rest = rest[n:]
		}
		status = c.Process(1)
		n := len(c.Output())
		if rest != "" {
			n -= n / 4 // it is never all sent
		}
		left := string(c.Output()[n:])
		got.Write(c.Output()[:n])
		c.Sent(n)
		if string(c.Output()) != left {
			t.Fatal("what was left is not what is left")
		}
		if most := c.Footprint(); most > 400<<10 {
			t.Fatalf("footprint %d", most)
		}
	}
	if got.String() != want.String() {
		t.Error("the output is not what was asked for")
	}
}

// An idle session holds little, whatever it did before.
func TestRest(t *testing.T) {
	const idle = 2 << 10
	pipeline := strings.Repeat(command("DECIDE", "1"), 1000)
	for _, row := range []struct {
		name, in string
		least    int // footprint before it rests
	}{
		{"new", "", 0},
		{"one command", "PING\r\n", 0},
		{"a deep pipeline", pipeline, 120_000},
		{"a large command", command("ECHO", strings.Repeat("a", 60_000)), 120_000},
		{"many arguments", command(strings.Fields("PING " + strings.Repeat("a ", 1000))...), 30_000},
		{"a large reply", "BIG 1000000\r\n", 0},
		{"a transaction", "MULTI\r\n" + pipeline + "EXEC\r\n", 150_000},
		{"a large transaction", "MULTI\r\n" + strings.Repeat(command("ECHO", strings.Repeat("a", 30_000)), 10) + "EXEC\r\n", 90_000},
		{"an abandoned transaction", "MULTI\r\n" + pipeline + "DISCARD\r\n", 60_000},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newClient(t, &handler{})
			for range 3 {
				c.send(row.in)
				c.Buffer() // a driver waits with it
			}
			const kept = 400 << 10
			if got := c.Footprint(); got > kept || got < row.least {
				t.Errorf("footprint %d before it rests, %d to %d expected", got, row.least, kept)
			}
			c.Rest()
			c.Buffer()
			if got := c.Footprint(); got > idle {
				t.Errorf("footprint %d at rest, at most %d expected", got, idle)
			}
			out, status := c.send("ECHO a\r\n")
			check(t, out, status, "$1\r\na\r\n", resp.StatusRead)
		})
	}
}

// The buffer of a large command is garbage once that has run, though words of
// it were parsed.
func TestLargeBufferGoes(t *testing.T) {
	c := newClient(t, &handler{})
	large := command("NULL", strings.Repeat("a", 60_000), strings.Repeat("b", 60_000))
	c.send(large[:100_000])
	buffer := weak.Make(&c.Buffer()[0])
	out, status := c.send(large[100_000:])
	check(t, out, status, "$-1\r\n", resp.StatusRead)
	c.Buffer()
	runtime.GC()
	if buffer.Value() != nil {
		t.Error("it is still held")
	}
	runtime.KeepAlive(c)
}

// Rest takes nothing that is still needed.
func TestRestKeeps(t *testing.T) {
	c := newClient(t, &handler{})
	first, second, _ := strings.Cut(command("ECHO", strings.Repeat("a", 5000)+"|"+strings.Repeat("b", 100)), "|")
	c.send("MULTI\r\nECHO x\r\n" + first)
	c.Rest()
	out, status := c.send("|" + second + "EXEC\r\n")
	want := "+QUEUED\r\n*2\r\n$1\r\nx\r\n$5101\r\n" + strings.Repeat("a", 5000) + "|" + strings.Repeat("b", 100) + "\r\n"
	check(t, out, status, want, resp.StatusRead)
}

// The time of a command that is not complete does not move with its bytes, and
// does with the next command.
func TestIncompleteSince(t *testing.T) {
	c := newClient(t, &handler{})
	for _, step := range []struct {
		in    string
		now   int64
		since int64
		ok    bool
	}{
		{"PING\r\n", 10, 0, false},
		{"PI", 20, 20, true},
		{"N", 30, 20, true},
		{"G\r\n", 40, 0, false},
		{"*1\r\n", 50, 50, true},
		{"$4\r\nPING\r\n*1\r\n$4\r\n", 60, 60, true},
		{"PING\r\n*0\r\n\r\n", 70, 0, false},
	} {
		c.Received(copy(c.Buffer(), step.in))
		c.Process(step.now)
		c.Sent(len(c.Output()))
		since, ok := c.IncompleteSince()
		if ok != step.ok || ok && since != step.since || ok != c.Incomplete() {
			t.Errorf("at %d, behind %q: since %d, %t; want %d, %t", step.now, step.in, since, ok, step.since, step.ok)
		}
	}
}
