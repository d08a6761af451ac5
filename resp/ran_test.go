package resp_test

import (
	"testing"

	"github.com/rlserver/rlserver/resp"
)

// Info tells others what a client does: its last command, what MULTI queued.
func TestInfoTellsWhatIsDone(t *testing.T) {
	lim := resp.DefaultLimits()
	s := resp.NewSession(resp.ClientInfo{ID: 1}, &handler{}, &lim, nil)
	name := "rl.allow"
	s.Ran(&name)
	var w resp.Writer
	for _, step := range []struct {
		do      func()
		inMulti bool
		queued  int
	}{
		{func() {}, false, 0},
		{func() { s.Multi(&w) }, true, 0},
		{func() { s.Queue(&w, [][]byte{[]byte("PING")}) }, true, 1},
		{func() { s.Queue(&w, [][]byte{[]byte("PING")}) }, true, 2},
		{func() { s.Exec(&w) }, false, 0},
		{func() { s.Multi(&w) }, true, 0},
		{func() { s.Discard(&w) }, false, 0},
	} {
		step.do()
		if i := s.Info(); i.Last != name || i.InMulti != step.inMulti || i.Queued != step.queued {
			t.Errorf("%+v, want %+v", i, step)
		}
	}
}
