package resp_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlserver/rlserver/resp"
)

// A transaction that keeps others away does so until it is over, or until
// replies leave, and once.
func TestIsolate(t *testing.T) {
	for _, row := range []struct{ name, in, trace string }{
		{"until the end", "MULTI\r\nISOLATE\r\nPING\r\nEXEC\r\nECHO a\r\n", "isolated PING released ECHO"},
		{"last", "MULTI\r\nISOLATE\r\nEXEC\r\nECHO a\r\n", "isolated released ECHO"},
		{"until nothing follows", "MULTI\r\nISOLATE\r\nPING\r\nEXEC\r\n", "isolated PING released"},
		{"until a wait", "MULTI\r\nISOLATE\r\nWAIT a\r\nPING\r\nEXEC\r\n", "isolated WAIT released PING"},
		{"until a panic", "MULTI\r\nISOLATE\r\nBOOM\r\nPING\r\nEXEC\r\n", "isolated BOOM released"},
		{"until a bound", "MULTI\r\nISOLATE\r\nBIG 3000\r\nPING\r\nEXEC\r\n", "isolated BIG released PING"},
		{"until garbage", "MULTI\r\nISOLATE\r\nEXEC\r\n*x\r\n", "isolated released"},
		{"twice", strings.Repeat("MULTI\r\nISOLATE\r\nEXEC\r\n", 2), "isolated released MULTI EXEC ISOLATE isolated released"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newClient(t, &handler{}, tightLimits, func(l *resp.Limits) { l.MaxBatch = 100 })
			c.send(row.in)
			if diff := cmp.Diff(strings.Fields(row.trace), c.handler.trace); diff != "" {
				t.Errorf("trace (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInExec(t *testing.T) {
	var in []bool
	h := inExec{&handler{}, &in}
	lim := resp.DefaultLimits()
	s := resp.NewSession(resp.ClientInfo{}, h, &lim, nil)
	s.Received(copy(s.Buffer(), "PING\r\nMULTI\r\nPING\r\nPING\r\nEXEC\r\nPING\r\n"))
	s.Process(1)
	want := []bool{false, false, false, false, false, true, true, false}
	if diff := cmp.Diff(want, in); diff != "" {
		t.Errorf("in EXEC (-want +got):\n%s", diff)
	}
}

// inExec notes of each command whether it was queued.
type inExec struct {
	*handler

	in *[]bool
}

func (h inExec) Command(s *resp.Session, w *resp.Writer, args [][]byte, now int64) {
	*h.in = append(*h.in, s.InExec())
	h.handler.Command(s, w, args, now)
}
