package resp_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/resp"
)

// maxFootprint is what a session of tightLimits may hold: its input buffer,
// the queue, a batch of replies of which the last is the handler's BIG, and
// what is reused from command to command.
const maxFootprint = 2*(tightQuery+tightInline) + 2*tightQuery + 2*(tightOutput+2*tightBig) + 4<<10

const (
	tightQuery  = 4 << 10
	tightInline = 1 << 10
	tightOutput = 2 << 10
	tightBig    = 700
)

// tightLimits are reached by small tests.
func tightLimits(l *resp.Limits) {
	*l = resp.Limits{MaxArgs: 16, MaxBulk: 512, MaxInline: tightInline, MaxQuery: tightQuery, MaxOutput: tightOutput, MaxBatch: 5, MaxMulti: 4}
}

// splitHandler loses decisions of slot 3.
func splitHandler() *handler { return &handler{lost: map[uint16]bool{3: true}, maxBig: tightBig} }

// agree fails unless pieces are answered as the whole is, in little memory, and
// what is deferred as what is answered at once.
func agree(tb rapid.TB, pieces []string) {
	tb.Helper()
	whole := newClient(tb, splitHandler(), tightLimits)
	wantOut, wantStatus := whole.send(strings.Join(pieces, ""))
	direct := newClient(tb, splitHandler(), tightLimits)
	direct.handler.atOnce = true
	directOut, directStatus := direct.send(strings.Join(pieces, ""))
	if directOut != wantOut || directStatus != wantStatus || direct.Err() != whole.Err() { //nolint:errorlint // the very value
		tb.Fatalf("deferred: %s, status %d, %v; at once: %s, status %d, %v",
			short(wantOut), wantStatus, whole.Err(), short(directOut), directStatus, direct.Err())
	}
	parts := newClient(tb, splitHandler(), tightLimits)
	parts.handler.order = rand.New(rand.NewPCG(1, uint64(len(pieces)))).IntN
	out, status := parts.send(pieces...)
	if out != wantOut || status != wantStatus || parts.Err() != whole.Err() { //nolint:errorlint // the very value
		tb.Fatalf("in pieces: %s, status %d, %v; whole: %s, status %d, %v",
			short(out), status, parts.Err(), short(wantOut), wantStatus, whole.Err())
	}
	if most := max(whole.most, parts.most); most > maxFootprint {
		tb.Fatalf("footprint %d, at most %d expected", most, maxFootprint)
	}
	if (len(whole.panics) > 0) != (len(parts.panics) > 0) {
		tb.Fatalf("%d and %d panics", len(whole.panics), len(parts.panics))
	}
}

// Any way to cut a stream gives the same answers.
func TestSplitsAgree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var stream []byte
		for range rapid.IntRange(1, 20).Draw(rt, "commands") {
			stream = append(stream, drawCommand(rt)...)
		}
		agree(rt, drawPieces(rt, string(stream)))
	})
}

// drawCommand returns a command that is right, or nearly.
func drawCommand(rt *rapid.T) []byte {
	word := rapid.SampledFrom([]string{
		"PING", "ECHO", "MULTI", "EXEC", "DISCARD", "DECIDE 1", "DECIDE 3", "DECIDE 3 3 4", "WAIT a", "WAIT b 3", "WAIT c 5 again",
		"DEFER a", "DEFER b 3", "DEFER c 1", "DEFER d 3 again", "DEFER e 1 again", "COUNT", "WAIT c 3",
		"NULL", "HELLO 3", "HELLO 2", "BIG 700", "CLIENT REPLY SKIP", "CLIENT REPLY ON", "nope x", "ECHO ''", `ECHO "a\x0ab"`, "",
	}).Draw(rt, "command")
	var line []byte
	switch rapid.IntRange(0, 9).Draw(rt, "form") {
	case 0:
		line = []byte(word + "\r\n")
	case 1:
		line = rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(rt, "garbage")
	case 2:
		line = []byte(rapid.SampledFrom([]string{
			"*0\r\n", "*-1\r\n", "*1\r\n$4\r\nPI", "*1\rx$4\ryPINGab", "*x\r\n", "POST /\r\n", "QUIT\r\n", "BOOM\r\n", "DEFER a 1 boom\r\n", "CLIENT REPLY OFF\r\n",
			"*3\r\n$513\r\n", "*17\r\n", "*" + strings.Repeat("1", tightInline+1), strings.Repeat("a", tightInline+1),
		}).Draw(rt, "oddity"))
	case 3:
		line = []byte(command("ECHO", strings.Repeat("x", rapid.IntRange(0, 512).Draw(rt, "length"))))
	default:
		line = []byte(command(strings.Fields(word)...))
	}
	return line
}

func drawPieces(rt *rapid.T, stream string) []string {
	cuts := rapid.SliceOfN(rapid.IntRange(0, len(stream)), 0, 12).Draw(rt, "cuts")
	slices.Sort(cuts)
	var pieces []string
	at := 0
	for _, cut := range append(cuts, len(stream)) {
		pieces = append(pieces, stream[at:cut])
		at = cut
	}
	return pieces
}

// FuzzSession feeds any bytes, cut anywhere: no panic, little memory, the same
// answers as to the whole.
func FuzzSession(f *testing.F) {
	for _, row := range framings() {
		if len(row.in) <= tightQuery {
			f.Add([]byte(row.in), []byte{3, 0, 250, 1})
		}
	}
	f.Add([]byte(command("MULTI")+command("DECIDE", "3")+command("WAIT", "x", "3")+command("EXEC")), []byte{1})
	f.Add([]byte("DEFER a 3\r\nMULTI\r\nDEFER b 3 again\r\nCOUNT\r\nEXEC\r\nHELLO 3\r\nCLIENT REPLY SKIP\r\nDEFER c 1\r\nDEFER d 1 boom\r\n"), []byte{255, 9})
	f.Fuzz(func(t *testing.T, in, cuts []byte) {
		agree(t, cutBy(in, cuts))
	})
}

// cutBy cuts in where cuts say, over and over.
func cutBy(in, cuts []byte) (pieces []string) {
	for i := 0; len(in) > 0; i++ {
		n := len(in)
		if len(cuts) > 0 {
			n = min(n, int(cuts[i%len(cuts)])+1)
		}
		pieces = append(pieces, string(in[:n]))
		in = in[n:]
	}
	return pieces
}

// A command that arrives byte by byte is not looked at from its start again
// and again, and not by recursion.
func TestManySegments(t *testing.T) {
	const n = 1_200_000
	c := newClient(t, &handler{}, func(l *resp.Limits) { l.MaxBulk, l.MaxQuery = 2*n, 3*n })
	feed := func(b byte, times int) {
		for range times {
			c.Buffer()[0] = b
			c.Received(1)
			if status := c.Process(1); status != resp.StatusRead {
				t.Fatalf("status %d", status)
			}
		}
	}
	for _, b := range []byte("*2\r\n$4\r\nECHO\r\n$" + strconv.Itoa(n) + "\r\n") {
		feed(b, 1)
	}
	feed('x', n)
	if got := c.Footprint(); got > 3*n {
		t.Errorf("footprint %d for a command of %d bytes", got, n)
	}
	feed('\r', 1)
	out, _ := c.send("\n")
	if got, want := len(out), len("$1200000\r\n\r\n")+n; got != want {
		t.Errorf("%d bytes of output, want %d", got, want)
	}
	c.Buffer()
	if got := c.Footprint(); got > 4<<10 {
		t.Errorf("footprint %d after the command", got)
	}
}

// A command of half a million arguments is not looked at from its start with
// each of its segments either.
func TestManyArguments(t *testing.T) {
	const n = 500_000
	c := newClient(t, &handler{}, func(l *resp.Limits) { l.MaxArgs, l.MaxQuery = n, 1<<24 })
	argument := "$1\r\na\r\n"
	pieces := append([]string{"*" + strconv.Itoa(n) + "\r\n$4\r\nNULL\r\n"}, slices.Repeat([]string{argument}, n-1)...)
	out, status := c.send(pieces...)
	check(t, out, status, "$-1\r\n", resp.StatusRead)
}
