package resp_test

import (
	"testing"

	"github.com/rlserver/rlserver/resp"
)

// What is queued stays what it is, whatever was queued before it in the same
// batch or an earlier one.
func TestQueue(t *testing.T) {
	const (
		begin = "MULTI\r\nECHO one\r\nECHO two\r\n"
		begun = "+OK\r\n+QUEUED\r\n+QUEUED\r\n"
		done  = "*2\r\n$3\r\none\r\n$3\r\ntwo\r\n"
		other = "MULTI\r\nECHO a\r\n"
		nope  = "MULTI\r\nnope\r\nECHO lost\r\n"
	)
	for _, row := range []struct {
		name    string
		batches []string
		out     string
	}{
		{"behind DISCARD", []string{other + "DISCARD\r\n" + begin + "EXEC\r\n"}, "+OK\r\n+QUEUED\r\n+OK\r\n" + begun + done},
		{"behind EXECABORT", []string{nope + "EXEC\r\n" + begin + "EXEC\r\n"}, "+OK\r\n-ERR unknown command 'nope', with args beginning with: \r\n" +
			"+QUEUED\r\n-EXECABORT Transaction discarded because of previous errors.\r\n" + begun + done},
		{"behind RESET", []string{other + "RESET\r\n" + begin + "EXEC\r\n"}, "+OK\r\n+QUEUED\r\n+RESET\r\n" + begun + done},
		{"behind EXEC", []string{other + "EXEC\r\n" + begin + "EXEC\r\n"}, "+OK\r\n+QUEUED\r\n*1\r\n$1\r\na\r\n" + begun + done},
		{"over batches", []string{"MULTI\r\n", "ECHO one\r\n", "ECHO two\r\n", "EXEC\r\n"}, begun + done},
		{"over batches, behind EXEC", []string{other + "EXEC\r\n" + begin, "EXEC\r\n"}, "+OK\r\n+QUEUED\r\n*1\r\n$1\r\na\r\n" + begun + done},
		{
			"over batches, behind two",
			[]string{other + "EXEC\r\n" + begin + "EXEC\r\nMULTI\r\n", "ECHO one\r\n", "ECHO two\r\nEXEC\r\n"},
			"+OK\r\n+QUEUED\r\n*1\r\n$1\r\na\r\n" + begun + done + begun + done,
		},
		{"over batches, behind DISCARD", []string{other + "DISCARD\r\n" + begin, "EXEC\r\n"}, "+OK\r\n+QUEUED\r\n+OK\r\n" + begun + done},
		{
			"over batches, abandoned",
			[]string{other + "EXEC\r\n" + begin, "DISCARD\r\n" + begin, "EXEC\r\n"},
			"+OK\r\n+QUEUED\r\n*1\r\n$1\r\na\r\n" + begun + "+OK\r\n" + begun + done,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			out, status := newClient(t, &handler{}).send(row.batches...)
			check(t, out, status, row.out, resp.StatusRead)
		})
	}
}

// A client that always has a transaction open when its batch ends does not make
// the queue grow.
func TestQueueIsDropped(t *testing.T) {
	c := newClient(t, &handler{})
	c.send("MULTI\r\nECHO one\r\n")
	for range 1000 {
		out, status := c.send("EXEC\r\nMULTI\r\nECHO one\r\n")
		check(t, out, status, "*1\r\n$3\r\none\r\n+OK\r\n+QUEUED\r\n", resp.StatusRead)
	}
	if c.most > 4<<10 {
		t.Errorf("footprint %d", c.most)
	}
}
