package resp_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/resp"
)

// handler is the smallest server that can show what a session does. Where it
// has a command of Redis, it answers as Redis does.
type handler struct {
	lost     map[uint16]bool // slots whose decisions no longer hold
	settled  [][]resp.Decided
	waits    []*wait
	atOnce   bool            // what could be deferred is answered at once
	deferred []*wait         // in the order they were started
	order    func(n int) int // of n that are to wake, the one that does; nil: the last
	answered int             // DEFERs
	open     func(*resp.Session)
	onSettle func()
	replace  func(*resp.Writer)
	maxBig   int      // bounds BIG; 0: no bound
	trace    []string // of commands, once one was isolated
}

func (h *handler) Open(s *resp.Session) {
	s.Authenticated = true
	if h.open != nil {
		h.open(s)
	}
}

func (h *handler) Command(s *resp.Session, w *resp.Writer, args [][]byte, _ int64) {
	name := strings.ToUpper(string(args[0]))
	control := slices.Contains([]string{"MULTI", "EXEC", "DISCARD", "RESET", "QUIT"}, name)
	if s.InMulti() && !control {
		if !known(name) {
			s.MarkDirty()
			unknown(w, args)
			return
		}
		s.Queue(w, args)
		return
	}
	h.run(s, w, name, args)
}

func known(name string) bool {
	return slices.Contains([]string{"PING", "ECHO", "AUTH", "HELLO", "CLIENT", "DECIDE", "WAIT", "DEFER", "COUNT", "BOOM", "BIG", "NULL", "KILLME", "ISOLATE"}, name)
}

func (h *handler) run(s *resp.Session, w *resp.Writer, name string, args [][]byte) {
	if need := map[string]int{"HELLO": 2, "CLIENT": 3, "BIG": 2, "WAIT": 2, "DEFER": 2}[name]; len(args) < need {
		w.Error("ERR too few arguments")
		return
	}
	if h.trace != nil {
		h.trace = append(h.trace, name)
	}
	switch name {
	case "ISOLATE":
		h.trace = append(h.trace, "isolated")
		s.Isolate(func() { h.trace = append(h.trace, "released") })
		w.Simple("OK")
	case "PING":
		w.Simple("PONG")
	case "ECHO":
		if len(args) != 2 {
			w.Error("ERR wrong number of arguments for 'echo' command")
			return
		}
		w.Bulk(args[1])
	case "QUIT":
		w.Simple("OK")
		s.Close()
	case "KILLME":
		w.Simple("OK")
		s.Close()
	case "MULTI":
		s.Multi(w)
	case "EXEC":
		s.Exec(w)
	case "DISCARD":
		s.Discard(w)
	case "RESET":
		s.Abandon()
		w.Simple("RESET")
	case "AUTH":
		s.Authenticated = true
		w.Simple("OK")
	case "HELLO":
		s.SetProto(number(args[1]))
		w.Map(1)
		w.BulkString("proto")
		w.Int(int64(w.Proto()))
	case "CLIENT": // CLIENT REPLY mode
		switch strings.ToUpper(string(args[2])) {
		case "ON":
			s.Unmute()
			w.Simple("OK")
		case "OFF":
			s.Reply = resp.ReplyOff
		case "SKIP":
			if s.Reply == resp.ReplyOn {
				s.Reply = resp.ReplySkip
			}
		}
	case "NULL":
		w.Null()
	case "BIG":
		n := number(args[1])
		if h.maxBig > 0 {
			n = min(n, h.maxBig)
		}
		w.BulkString(strings.Repeat("x", n))
	case "DECIDE": // DECIDE slot [slot ...]
		w.Array(len(args) - 1)
		for _, arg := range args[1:] {
			s.Decided(uint16(number(arg)), 7)
			w.Int(int64(number(arg)))
		}
	case "WAIT": // WAIT text [slot]: a decision before and one after
		p := &wait{text: string(args[1]), again: len(args) > 3}
		if len(args) > 2 {
			p.slot = uint16(number(args[2]))
			s.Decided(p.slot, 7)
		}
		h.waits = append(h.waits, p)
		s.Wait(p)
	case "DEFER": // DEFER text [slot [again|boom]]: as WAIT
		p := &wait{text: string(args[1]), h: h, later: true}
		if len(args) > 2 {
			p.slot = uint16(number(args[2]))
			s.Decided(p.slot, 7)
		}
		if len(args) > 3 {
			p.again, p.boom = string(args[3]) == "again", string(args[3]) == "boom"
		}
		if h.atOnce {
			p.again = false
			p.Finish(s, w, 1)
			return
		}
		s.Defer(p)
	case "COUNT": // of the DEFERs before it
		if s.Barrier() {
			s.AfterDeferred()
			return
		}
		w.Int(int64(h.answered))
	case "BOOM":
		s.Decided(1, 7)
		w.Array(2)
		w.Simple("secret")
		panic("secret")
	default:
		unknown(w, args)
	}
}

func unknown(w *resp.Writer, args [][]byte) {
	var rest strings.Builder
	for _, arg := range args[1:] {
		fmt.Fprintf(&rest, "'%s' ", arg)
	}
	w.Error("ERR unknown command '" + string(args[0]) + "', with args beginning with: " + rest.String())
}

func (h *handler) Settle(_ *resp.Session, decided []resp.Decided) {
	if h.onSettle != nil {
		h.onSettle()
	}
	for i := range decided {
		decided[i].Lost = h.lost[decided[i].Slot]
	}
	h.settled = append(h.settled, slices.Clone(decided))
}

func (h *handler) Replace(_ *resp.Session, w *resp.Writer, args [][]byte, _ int64) {
	if h.replace != nil {
		h.replace(w)
		return
	}
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = string(arg)
	}
	w.Simple("lost " + strings.Join(words, " "))
}

// wait is a command that answers later.
type wait struct {
	text  string
	slot  uint16
	again bool // waits once more
	boom  bool // fails
	wake  func()

	h     *handler
	later bool // it was deferred
}

func (p *wait) Start(wake func()) {
	p.wake = wake
	if p.later {
		p.h.deferred = append(p.h.deferred, p)
	}
}

func (p *wait) Finish(s *resp.Session, w *resp.Writer, _ int64) {
	if p.again {
		p.again = false
		if p.later && p.slot == 1 {
			s.Defer(p)
		} else { // a deferred one may say it so, too
			s.Wait(p)
		}
		return
	}
	if p.slot != 0 {
		s.Decided(p.slot, 7)
	}
	if !p.later {
		w.BulkString(p.text)
		return
	}
	p.h.answered++
	w.Array(2)
	w.BulkString(p.text)
	if p.boom {
		panic("secret")
	}
	w.Null()
}

// wakeAll wakes what was started: the command that waits, or all that were
// deferred.
func (h *handler) wakeAll() {
	if len(h.deferred) == 0 && len(h.waits) > 0 {
		h.waits[len(h.waits)-1].wake()
	}
	for n := len(h.deferred); n > 0; n-- {
		i := n - 1
		if h.order != nil {
			i = h.order(n)
		}
		h.deferred[i].wake()
		h.deferred = slices.Delete(h.deferred, i, i+1)
	}
}

// number reads a small number, 0 if it is none.
func number(b []byte) int {
	n, err := strconv.Atoi(string(b))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// client is a session and what a test needs to talk to it.
type client struct {
	*resp.Session

	tb      rapid.TB
	handler *handler
	lim     resp.Limits
	panics  []any
	most    int // largest Footprint seen
}

func newClient(tb rapid.TB, h *handler, change ...func(*resp.Limits)) *client {
	tb.Helper()
	c := &client{tb: tb, handler: h, lim: resp.DefaultLimits()}
	for _, f := range change {
		f(&c.lim)
	}
	if err := c.lim.Validate(); err != nil {
		tb.Fatal(err)
	}
	events := &resp.Events{Panic: func(value any, stack []byte) {
		if len(stack) == 0 {
			tb.Error("a panic without a stack")
		}
		c.panics = append(c.panics, value)
	}}
	c.Session = resp.NewSession(resp.ClientInfo{ID: 1}, h, &c.lim, events)
	return c
}

// send gives the session its input in pieces, as a driver would, and returns
// all output until it wants more, waits, or is over. What waits is woken.
func (c *client) send(pieces ...string) (string, resp.Status) {
	c.tb.Helper()
	var out strings.Builder
	status := resp.StatusRead
	for _, piece := range pieces {
		for piece != "" && status != resp.StatusClose {
			n := copy(c.Buffer(), piece)
			c.Received(n)
			piece = piece[n:]
			status = c.process(&out)
		}
	}
	return out.String(), status
}

func (c *client) process(out *strings.Builder) resp.Status {
	for {
		status := c.Process(1)
		c.most = max(c.most, c.Footprint())
		out.Write(c.Output())
		c.Sent(len(c.Output()))
		switch status {
		case resp.StatusRead, resp.StatusClose:
			return status
		case resp.StatusWait:
			woken := 0
			c.Start(func() { woken++ })
			c.handler.wakeAll()
			if woken != 1 {
				c.tb.Errorf("woken %d times", woken)
			}
		case resp.StatusFlush:
		}
	}
}

// bytewise cuts a string into its bytes.
func bytewise(s string) []string {
	pieces := make([]string, len(s))
	for i := range pieces {
		pieces[i] = s[i : i+1]
	}
	return pieces
}

// command is a command as an array of bulk strings.
func command(words ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(word), word)
	}
	return b.String()
}

// check compares what a session answers.
func check(tb rapid.TB, gotOut string, gotStatus resp.Status, out string, status resp.Status) {
	tb.Helper()
	if gotOut != out || gotStatus != status {
		tb.Errorf("answer %s, status %d; want %s, status %d", short(gotOut), gotStatus, short(out), status)
	}
}

// short quotes a string, cut where it is long.
func short(s string) string {
	const most = 300
	if len(s) > most {
		return fmt.Sprintf("%q... (%d bytes)", s[:most], len(s))
	}
	return strconv.Quote(s)
}
