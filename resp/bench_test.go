package resp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rlserver/rlserver/resp"
)

// decider is a handler that costs nothing itself.
type decider struct{ handler }

func (*decider) Command(s *resp.Session, w *resp.Writer, args [][]byte, _ int64) {
	if len(args) == 1 {
		w.Simple("PONG")
		return
	}
	s.Decided(uint16(len(args[1])), 1)
	w.Array(5)
	for i := range 5 {
		w.Int(int64(i) * 20)
	}
}

func (*decider) Settle(*resp.Session, []resp.Decided) {}

func newDecider() *resp.Session {
	lim := resp.DefaultLimits()
	return resp.NewSession(resp.ClientInfo{}, &decider{}, &lim, nil)
}

// exchange runs one batch.
func exchange(s *resp.Session, batch string) {
	for batch != "" {
		n := copy(s.Buffer(), batch)
		s.Received(n)
		batch = batch[n:]
		for status := s.Process(1); status != resp.StatusRead; status = s.Process(1) {
			if status == resp.StatusWait {
				s.Start(func() {})
			}
			s.Sent(len(s.Output()))
		}
		s.Sent(len(s.Output()))
	}
}

// Neither a command nor a batch allocates once a session is warm.
func TestNoAllocations(t *testing.T) {
	decide := command("RL.ALLOW", "user:1234567890", "100", "60")
	for _, row := range []struct{ name, batch string }{
		{"one command", decide},
		{"inline", "PING\r\n"},
		{"a pipeline of 16", strings.Repeat(decide, 16)},
		{"a pipeline of 1000", strings.Repeat(decide, 1000)},
		{"a cut command", strings.Repeat(decide, 16) + "PING\r"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newDecider()
			for range 20 {
				exchange(s, row.batch+"\n")
			}
			if got := testing.AllocsPerRun(100, func() { exchange(s, row.batch+"") }); got > 0 {
				t.Errorf("%v allocations a batch, want none", got)
			}
		})
	}
}

// BenchmarkDeferred measures what it adds to a command to be deferred.
func BenchmarkDeferred(b *testing.B) {
	const depth = 64
	lim := resp.DefaultLimits()
	s := resp.NewSession(resp.ClientInfo{}, &breaking{&decider{}, ready{}}, &lim, nil)
	batch := strings.Repeat(command("BREAK"), depth)
	b.ReportAllocs()
	for i := 0; i < b.N; i += depth {
		exchange(s, batch)
	}
}

// BenchmarkSession measures what a session adds to a command: framing,
// parsing, encoding, batching. One operation is one command.
func BenchmarkSession(b *testing.B) {
	for _, kind := range []struct{ name, command string }{
		{"ping", command("PING")},
		{"inline", "PING\r\n"},
		{"allow", command("RL.ALLOW", "key:000000123456", "100", "60")},
	} {
		for _, depth := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%s/pipeline=%d", kind.name, depth), func(b *testing.B) {
				s, batch := newDecider(), strings.Repeat(kind.command, depth)
				b.ReportAllocs()
				for i := 0; i < b.N; i += depth {
					exchange(s, batch)
				}
			})
		}
	}
}
