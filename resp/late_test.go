package resp_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlserver/rlserver/resp"
)

// deferred is the reply of DEFER in RESP2.
func deferred(text string) string { return lines("*2", "$1", text, "$-1") }

// Replies that come later stand in their places, whatever stands around them,
// and are settled with the rest of their batch.
func TestDefer(t *testing.T) {
	for _, row := range []struct {
		name, in, out string
		settles       [][]uint16
	}{
		{"alone", "DEFER a\r\n", deferred("a"), nil},
		{"first", "DEFER a\r\nPING\r\n", deferred("a") + lines("+PONG"), nil},
		{"last", "PING\r\nDEFER a\r\n", lines("+PONG") + deferred("a"), nil},
		{"side by side", "DEFER a\r\nDEFER b\r\nPING\r\nDEFER c\r\n", deferred("a") + deferred("b") + lines("+PONG") + deferred("c"), nil},
		{"once more", "DEFER a 2 again\r\nDEFER b\r\nDEFER c 1 again\r\n", deferred("a") + deferred("b") + deferred("c"), [][]uint16{{2, 2, 1, 1}}},
		{
			"decisions", "DECIDE 1\r\nDEFER a 2\r\nDECIDE 5\r\nDEFER b 6\r\nDECIDE 7 8\r\n",
			lines("*1", ":1") + deferred("a") + lines("*1", ":5") + deferred("b") + lines("*2", ":7", ":8"),
			[][]uint16{{1, 2, 2, 5, 6, 6, 7, 8}},
		},
		{
			"lost", "DECIDE 3\r\nDEFER a 3\r\nDECIDE 1\r\nDEFER b 1\r\nDEFER c 4\r\nDECIDE 3 1\r\nPING\r\n",
			lines("+lost DECIDE 3", "+lost DEFER a 3", "*1", ":1") + deferred("b") + lines("+lost DEFER c 4", "+lost DECIDE 3 1", "+PONG"),
			[][]uint16{{3, 3, 3, 1, 1, 1, 4, 4, 3, 1}},
		},
		{
			"in EXEC", "MULTI\r\nDEFER a 3\r\nPING\r\nDEFER b 1\r\nDECIDE 3\r\nEXEC\r\nPING\r\n",
			lines("+OK", "+QUEUED", "+QUEUED", "+QUEUED", "+QUEUED", "*4", "+lost DEFER a 3", "+PONG") + deferred("b") + lines("+lost DECIDE 3", "+PONG"),
			[][]uint16{{3, 3, 1, 1, 3}},
		},
		{
			"before a command that waits", "DEFER a 3\r\nDECIDE 1\r\nWAIT b 3\r\nDEFER c 3\r\n",
			lines("+lost DEFER a 3", "*1", ":1", "+lost WAIT b 3", "+lost DEFER c 3"),
			[][]uint16{{3, 3, 1}, {3, 3, 3, 3}},
		},
		{
			"before what comes after", "COUNT\r\nDEFER a 3\r\nDEFER b\r\nCOUNT\r\nCOUNT\r\nDEFER c\r\nCOUNT\r\n",
			lines(":0", "+lost DEFER a 3") + deferred("b") + lines(":2", ":2") + deferred("c") + lines(":3"),
			[][]uint16{{3, 3}},
		},
		{
			"before what comes after, in EXEC", "MULTI\r\nDEFER a\r\nCOUNT\r\nDEFER b\r\nEXEC\r\nCOUNT\r\n",
			lines("+OK", "+QUEUED", "+QUEUED", "+QUEUED", "*3") + deferred("a") + lines(":1") + deferred("b") + lines(":2"), nil,
		},
		{"one not answered", "DEFER a 3\r\nCLIENT REPLY SKIP\r\nDEFER b 3\r\nDEFER c\r\nCOUNT\r\n", lines("+lost DEFER a 3") + deferred("c") + lines(":3"), [][]uint16{{3, 3}}},
		{"none answered", "DEFER a\r\nCLIENT REPLY OFF\r\nDEFER b\r\nDEFER c 3\r\n", deferred("a"), nil},
		{"none answered before", "CLIENT REPLY OFF\r\nDEFER a 3\r\nCLIENT REPLY ON\r\nDEFER b\r\n", lines("+OK") + deferred("b"), nil},
		{
			"a transaction not answered", "CLIENT REPLY OFF\r\nMULTI\r\nDEFER a 3\r\nEXEC\r\nCLIENT REPLY ON\r\nCOUNT\r\n",
			lines("+OK", ":1"), nil,
		},
		{"protocols", "DEFER a\r\nHELLO 3\r\nDEFER b\r\nNULL\r\n", deferred("a") + lines("%1", "$5", "proto", ":3", "*2", "$1", "b", "_", "_"), nil},
		{"before QUIT", "DEFER a 3\r\nQUIT\r\nDEFER b\r\n", lines("+lost DEFER a 3", "+OK"), [][]uint16{{3, 3}}},
		{"before garbage", "DEFER a\r\n*x\r\n", deferred("a") + lines("-ERR Protocol error: invalid multibulk length"), nil},
		{"before a panic", "DEFER a 3\r\nDEFER b\r\nBOOM\r\nPING\r\n", lines("+lost DEFER a 3") + deferred("b") + lines("-ERR internal error"), [][]uint16{{3, 3}}},
		{
			"a panic", "DEFER a 3\r\nDEFER b 1 boom\r\nDECIDE 1\r\nDEFER c\r\nWAIT d\r\n",
			lines("+lost DEFER a 3", "-ERR internal error"),
			[][]uint16{{3, 3}},
		},
		{"a panic, another waits once more", "DEFER a 3 again\r\nDEFER b 1 boom\r\nDEFER c\r\n", lines("+lost DEFER a 3 again", "-ERR internal error"), [][]uint16{{3, 3}}},
		{"a panic not answered", "CLIENT REPLY SKIP\r\nDEFER b 1 boom\r\nPING\r\n", "", nil},
		{"a panic before none is answered", "DEFER b 1 boom\r\nCLIENT REPLY OFF\r\nPING\r\n", lines("-ERR internal error"), nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newClient(t, &handler{lost: map[uint16]bool{3: true, 4: true}})
			out, _ := c.send(row.in)
			if diff := cmp.Diff(row.out, out); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(row.settles, slots(c.handler.settled)); diff != "" {
				t.Errorf("settled (-want +got):\n%s", diff)
			}
		})
	}
}

// All that a batch defers is started together, and nothing leaves before the
// last has woken.
func TestDeferTogether(t *testing.T) {
	for _, row := range []struct {
		name, in string
		started  []int // by each wait
	}{
		{"no more input", strings.Repeat("DEFER a\r\nPING\r\n", 40), []int{40}},
		{"a bound of commands", strings.Repeat("DEFER a\r\n", 110), []int{100, 10}},
		{"a bound of output", "DEFER a\r\nBIG 3000\r\nDEFER b\r\n", []int{1, 1}},
		{"the end of EXEC", "MULTI\r\nDEFER a\r\nDEFER b\r\nEXEC\r\nDEFER c\r\n", []int{2, 1}},
		{"an incomplete command", "DEFER a\r\nDEFER b\r\nDEF", []int{2}},
		{"once more", "DEFER a\r\nDEFER b 1 again\r\nDEFER c\r\n", []int{3, 1}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newClient(t, &handler{}, tightLimits, func(l *resp.Limits) { l.MaxBatch = 100 })
			c.Received(copy(c.Buffer(), row.in))
			var started []int
			status := c.Process(1)
			for status == resp.StatusWait || status == resp.StatusFlush {
				if status == resp.StatusWait {
					if out := c.Output(); len(out) > 0 {
						t.Errorf("%q leaves", out)
					}
					woken := 0
					c.Start(func() { woken++ })
					n := len(c.handler.deferred)
					started = append(started, n)
					for i, p := range c.handler.deferred {
						if p.wake(); woken > 0 != (i == n-1) {
							t.Errorf("woken %d times by %d of %d", woken, i+1, n)
						}
					}
					c.handler.deferred = nil
				}
				status = c.Process(1)
				c.Sent(len(c.Output()))
			}
			if diff := cmp.Diff(row.started, started); diff != "" {
				t.Errorf("started (-want +got):\n%s", diff)
			}
		})
	}
}

// Output of earlier batches may leave while deferred commands are waited for.
func TestDeferUnsent(t *testing.T) {
	const long = 70_000
	for _, earlier := range []string{"PING\r\n", "BIG 70000\r\n"} {
		c := newClient(t, &handler{lost: map[uint16]bool{3: true}})
		c.Received(copy(c.Buffer(), earlier))
		c.Process(1)
		c.Received(copy(c.Buffer(), "DEFER a 3\r\nPING\r\nDEFER b 1\r\n"))
		if status := c.Process(1); status != resp.StatusWait {
			t.Fatalf("status %d", status)
		}
		c.Sent(min(len(c.Output()), long))
		c.Sent(len(c.Output()))
		c.Start(func() {})
		c.handler.wakeAll()
		status := c.Process(1)
		check(t, string(c.Output()), status, lines("+lost DEFER a 3", "+PONG")+deferred("b"), resp.StatusRead)
		c.Sent(len(c.Output()))
		c.Rest()
		if got := c.Footprint(); got > 3<<10 {
			t.Errorf("footprint %d", got)
		}
	}
}

// Nobody is kept away while deferred commands are waited for.
func TestDeferIsolated(t *testing.T) {
	c := newClient(t, &handler{})
	c.send("MULTI\r\nISOLATE\r\nDEFER a\r\nPING\r\nEXEC\r\nECHO a\r\n")
	if diff := cmp.Diff(strings.Fields("isolated DEFER PING released ECHO"), c.handler.trace); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
}

// A Start that panics cuts its own reply and what is behind it. What was
// started before it is waited for.
func TestDeferStartPanics(t *testing.T) {
	for _, wakes := range []bool{false, true} {
		for before := range 3 {
			h := &handler{}
			b := &breaking{h, unstartable{wakes}}
			lim := resp.DefaultLimits()
			s := resp.NewSession(resp.ClientInfo{}, b, &lim, nil)
			in := strings.Repeat("DEFER a\r\n", before) + "PING\r\nBREAK\r\nPING\r\nDEFER b\r\n"
			s.Received(copy(s.Buffer(), in))
			if status := s.Process(1); status != resp.StatusWait {
				t.Fatalf("status %d", status)
			}
			woken := 0
			s.Start(func() { woken++ })
			if woken > 0 != (before == 0) || len(h.deferred) != before {
				t.Errorf("woken %d times, %d started, want %d", woken, len(h.deferred), before)
			}
			h.wakeAll()
			if woken != 1 {
				t.Errorf("woken %d times", woken)
			}
			status := s.Process(1)
			check(t, string(s.Output()), status, strings.Repeat(deferred("a"), before)+lines("+PONG", "-ERR internal error"), resp.StatusClose)
			if got := s.Info().Failed; got != "BREAK" {
				t.Errorf("Failed = %q", got)
			}
		}
	}
}

// What a command writes before it defers is no reply: it stays when that is
// lost.
func TestDeferPush(t *testing.T) {
	h := &handler{lost: map[uint16]bool{1: true}}
	lim := resp.DefaultLimits()
	s := resp.NewSession(resp.ClientInfo{}, &breaking{h, ready{}}, &lim, nil)
	s.Received(copy(s.Buffer(), "HELLO 3\r\nDEFER a 1\r\nBREAK news\r\nBREAK more\r\nPING\r\n"))
	if status := s.Process(1); status != resp.StatusWait {
		t.Fatalf("status %d", status)
	}
	s.Start(func() {})
	h.wakeAll()
	want := lines("%1", "$5", "proto", ":3", "+lost DEFER a 1", ">1", "+news", "+lost BREAK news", ">1", "+more", "+lost BREAK more", "+PONG")
	check(t, "", s.Process(1), "", resp.StatusRead)
	if diff := cmp.Diff(want, string(s.Output())); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

// A command that panics once it has deferred its reply is like any other.
func TestDeferAndPanic(t *testing.T) {
	h := &handler{}
	lim := resp.DefaultLimits()
	s := resp.NewSession(resp.ClientInfo{}, &breaking{h, ready{}}, &lim, nil)
	s.Received(copy(s.Buffer(), "DEFER a\r\nBREAK boom\r\nPING\r\n"))
	if status := s.Process(1); status != resp.StatusWait {
		t.Fatalf("status %d", status)
	}
	s.Start(func() {})
	h.wakeAll()
	status := s.Process(1)
	check(t, string(s.Output()), status, deferred("a")+lines("-ERR internal error"), resp.StatusClose)
}

// What a batch with deferred commands sets counts for those that follow.
func TestDeferKeepsModes(t *testing.T) {
	c := newClient(t, &handler{})
	out, status := c.send("DEFER a\r\nHELLO 3\r\nCLIENT REPLY OFF\r\n", "PING\r\nDEFER b\r\n", "CLIENT REPLY ON\r\nNULL\r\n",
		"DEFER c\r\nCLIENT REPLY SKIP\r\n", "DEFER d\r\nPING\r\n")
	want := deferred("a") + lines("%1", "$5", "proto", ":3", "+OK", "_", "*2", "$1", "c", "_", "+PONG")
	check(t, out, status, want, resp.StatusRead)
}

// breaking is a handler with one more command, which is deferred and fails.
type breaking struct {
	resp.Handler

	p resp.Pending
}

func (b *breaking) Command(s *resp.Session, w *resp.Writer, args [][]byte, now int64) {
	if string(args[0]) == "BREAK" {
		s.Decided(1, 7)
		if string(args[len(args)-1]) == "boom" {
			s.Defer(b.p)
			panic("secret")
		}
		if len(args) > 1 {
			w.Push(1)
			w.Simple(string(args[1]))
		}
		s.Defer(b.p)
		return
	}
	b.Handler.Command(s, w, args, now)
}

// Wakes come from any goroutine, also before Start returns, and whatever the order.
func TestDeferWakesAnywhere(t *testing.T) {
	const batches, depth = 50, 64
	var all sync.WaitGroup
	defer all.Wait()
	lim := resp.DefaultLimits()
	s := resp.NewSession(resp.ClientInfo{}, &breaking{&handler{}, elsewhere{&all}}, &lim, nil)
	woken := make(chan struct{}, batches)
	for range batches {
		s.Received(copy(s.Buffer(), strings.Repeat("BREAK\r\nPING\r\n", depth)))
		status := s.Process(1)
		for status == resp.StatusWait {
			s.Start(func() { woken <- struct{}{} })
			<-woken
			status = s.Process(1)
		}
		if want := strings.Repeat(lines("+done", "+PONG"), depth); string(s.Output()) != want || status != resp.StatusRead {
			t.Fatalf("answer %s, status %d", short(string(s.Output())), status)
		}
		s.Sent(len(s.Output()))
	}
}

// elsewhere is a command that wakes from a goroutine of its own.
type elsewhere struct{ all *sync.WaitGroup }

func (e elsewhere) Start(wake func()) { e.all.Go(wake) }

func (elsewhere) Finish(_ *resp.Session, w *resp.Writer, _ int64) { w.Simple("done") }

// A session that is warm defers without allocating, and what a deep pipeline
// needed goes.
func TestDeferAllocations(t *testing.T) {
	lim := resp.DefaultLimits()
	s := resp.NewSession(resp.ClientInfo{}, &breaking{&decider{}, ready{}}, &lim, nil)
	exchange(s, strings.Repeat("BREAK\r\n", 5000))
	pipeline := strings.Repeat("BREAK\r\n", 64)
	if got := testing.AllocsPerRun(100, func() { exchange(s, pipeline) }); got > 0 {
		t.Errorf("%v allocations a batch, want none", got)
	}
	s.Buffer()
	s.Rest()
	if got := s.Footprint(); got > 2<<10 {
		t.Errorf("footprint %d", got)
	}
}

// ready is a command that is deferred for nothing.
type ready struct{}

func (ready) Start(wake func()) { wake() }

func (ready) Finish(_ *resp.Session, w *resp.Writer, _ int64) { w.Simple("OK") }
