package resp_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlserver/rlserver/resp"
)

// lines makes one string of simple replies.
func lines(replies ...string) string { return strings.Join(replies, "\r\n") + "\r\n" }

// Decisions are checked once a batch, and the replies of those that are lost
// are replaced where they stand.
func TestSettle(t *testing.T) {
	for _, row := range []struct {
		name    string
		in      string
		out     string
		settles [][]uint16 // the slots that were asked about
	}{
		{"nothing decided", "PING\r\n", lines("+PONG"), nil},
		{"holds", "DECIDE 1\r\n", lines("*1", ":1"), [][]uint16{{1}}},
		{"lost", "DECIDE 3\r\n", lines("+lost DECIDE 3"), [][]uint16{{3}}},
		{"lost, as an array", command("DECIDE", "3"), lines("+lost DECIDE 3"), [][]uint16{{3}}},
		{
			"in a pipeline", "PING\r\nDECIDE 3\r\nDECIDE 1\r\nDECIDE 3\r\nDECIDE 4\r\nPING\r\n",
			lines("+PONG", "+lost DECIDE 3", "*1", ":1", "+lost DECIDE 3", "+lost DECIDE 4", "+PONG"),
			[][]uint16{{3, 1, 3, 4}},
		},
		{"first and last", "DECIDE 3\r\nPING\r\nDECIDE 3\r\n", lines("+lost DECIDE 3", "+PONG", "+lost DECIDE 3"), [][]uint16{{3, 3}}},
		{"one of several of a command", "DECIDE 1 3 2\r\nPING\r\n", lines("+lost DECIDE 1 3 2", "+PONG"), [][]uint16{{1, 3, 2}}},
		{"several of a command", "DECIDE 3 4 1\r\nPING\r\n", lines("+lost DECIDE 3 4 1", "+PONG"), [][]uint16{{3, 4, 1}}},
		{
			"in EXEC", "MULTI\r\nDECIDE 3\r\nPING\r\nDECIDE 1\r\nDECIDE 4\r\nEXEC\r\nPING\r\n",
			lines("+OK", "+QUEUED", "+QUEUED", "+QUEUED", "+QUEUED", "*4", "+lost DECIDE 3", "+PONG", "*1", ":1", "+lost DECIDE 4", "+PONG"),
			[][]uint16{{3, 1, 4}},
		},
		{
			"in two EXECs of a batch", "MULTI\r\nDECIDE 3\r\nEXEC\r\nDECIDE 4\r\nMULTI\r\nDECIDE 4\r\nEXEC\r\nMULTI\r\nPING\r\n",
			lines("+OK", "+QUEUED", "*1", "+lost DECIDE 3", "+lost DECIDE 4", "+OK", "+QUEUED", "*1", "+lost DECIDE 4", "+OK", "+QUEUED"),
			[][]uint16{{3, 4, 4}},
		},
		{"not answered", "CLIENT REPLY SKIP\r\nDECIDE 3\r\nPING\r\n", lines("+PONG"), nil},
		{"before garbage", "DECIDE 3\r\n*x\r\n", lines("+lost DECIDE 3", "-ERR Protocol error: invalid multibulk length"), [][]uint16{{3}}},
		{"before QUIT", "DECIDE 3\r\nQUIT\r\n", lines("+lost DECIDE 3", "+OK"), [][]uint16{{3}}},
		{"before a panic", "DECIDE 3\r\nDECIDE 1\r\nBOOM\r\n", lines("+lost DECIDE 3", "*1", ":1", "-ERR internal error"), [][]uint16{{3, 1}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newClient(t, &handler{lost: map[uint16]bool{3: true, 4: true}})
			out, _ := c.send(row.in)
			if out != row.out {
				t.Errorf("answer %q, want %q", out, row.out)
			}
			if diff := cmp.Diff(row.settles, slots(c.handler.settled)); diff != "" {
				t.Errorf("settled (-want +got):\n%s", diff)
			}
		})
	}
}

func slots(settled [][]resp.Decided) (all [][]uint16) {
	for _, decided := range settled {
		var batch []uint16
		for _, d := range decided {
			batch = append(batch, d.Slot)
		}
		all = append(all, batch)
	}
	return all
}

// Nothing leaves before it is settled, also where a bound ends the batch in
// the middle of a transaction.
func TestSettleEachBatch(t *testing.T) {
	h := &handler{lost: map[uint16]bool{3: true}}
	c := newClient(t, h, func(l *resp.Limits) { l.MaxBatch = 2 })
	in := "MULTI\r\nDECIDE 3\r\nDECIDE 1\r\nDECIDE 3\r\nEXEC\r\nDECIDE 3\r\n"
	c.Received(copy(c.Buffer(), in))
	var batches []string
	for status := resp.StatusFlush; status == resp.StatusFlush; {
		status = c.Process(1)
		batches = append(batches, string(c.Output()))
		c.Sent(len(c.Output()))
	}
	want := []string{
		lines("+OK", "+QUEUED"), lines("+QUEUED", "+QUEUED"), lines("*3", "+lost DECIDE 3"),
		lines("*1", ":1", "+lost DECIDE 3"), lines("+lost DECIDE 3"),
	}
	if diff := cmp.Diff(want, batches); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][]uint16{{3}, {1, 3}, {3}}, slots(h.settled)); diff != "" {
		t.Errorf("settled (-want +got):\n%s", diff)
	}
}

// A decision's version is the one it was made under.
func TestDecidedVersion(t *testing.T) {
	c := newClient(t, &handler{})
	c.send("DECIDE 9\r\n")
	if got := c.handler.settled[0][0]; got.Slot != 9 || got.Version != 7 {
		t.Errorf("settled %+v, want slot 9, version 7", got)
	}
}

// A reply is replaced in the protocol it was made for.
func TestReplaceProtocol(t *testing.T) {
	h := &handler{lost: map[uint16]bool{3: true}, replace: func(w *resp.Writer) { w.Null() }}
	out, _ := newClient(t, h).send("DECIDE 3\r\nHELLO 3\r\nDECIDE 3\r\nNULL\r\n")
	if want := lines("$-1", "%1", "$5", "proto", ":3", "_", "_"); out != want {
		t.Errorf("answer %q, want %q", out, want)
	}
}

// Decisions of a command that waits are checked when its reply leaves; what
// was before it is checked when that leaves.
func TestSettleWait(t *testing.T) {
	for _, row := range []struct {
		name, in, out string
		settles       [][]uint16
	}{
		{"holds", "WAIT a 1\r\n", lines("$1", "a"), [][]uint16{{1, 1}}},
		{"lost", "WAIT a 3\r\nPING\r\n", lines("+lost WAIT a 3", "+PONG"), [][]uint16{{3, 3}}},
		{
			"behind decisions", "DECIDE 3\r\nDECIDE 1\r\nWAIT a 3\r\nDECIDE 3\r\n",
			lines("+lost DECIDE 3", "*1", ":1", "+lost WAIT a 3", "+lost DECIDE 3"),
			[][]uint16{{3, 1}, {3, 3, 3}},
		},
		{
			"in EXEC", "MULTI\r\nDECIDE 3\r\nWAIT a 3\r\nWAIT b 1 again\r\nEXEC\r\n",
			lines("+OK", "+QUEUED", "+QUEUED", "+QUEUED", "*3", "+lost DECIDE 3", "+lost WAIT a 3", "$1", "b"),
			[][]uint16{{3}, {3, 3}, {1, 1}},
		},
		{"skipped", "CLIENT REPLY SKIP\r\nWAIT a 3\r\nPING\r\n", lines("+PONG"), nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newClient(t, &handler{lost: map[uint16]bool{3: true}})
			out, _ := c.send(row.in)
			if out != row.out {
				t.Errorf("answer %q, want %q", out, row.out)
			}
			if diff := cmp.Diff(row.settles, slots(c.handler.settled)); diff != "" {
				t.Errorf("settled (-want +got):\n%s", diff)
			}
		})
	}
}
