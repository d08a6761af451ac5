package commands_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlserver/rlserver/commands"
)

// Who is not let in is told of, without the password.
func TestAuthFailedIsTold(t *testing.T) {
	var told []string
	w := newWorld(t)
	cfg := w.config()
	cfg.Events.AuthFailed = func(user, addr string) { told = append(told, user+" "+addr) }
	w.users = commands.PasswordUsers("pw", "")
	w.serve(t, cfg)
	w.send([]byte("AUTH x\r\nAUTH bob pw\r\nHELLO 3 AUTH default x\r\nAUTH \"\" pw\r\nAUTH " + strings.Repeat("n", 99) + " x\r\n"))
	w.send([]byte("AUTH a b c\r\nAUTH pw\r\nHELLO 2 AUTH default pw\r\n")) // no failures
	const addr = " 192.0.2.1:1001"
	want := []string{"default" + addr, "bob" + addr, "default" + addr, addr, strings.Repeat("n", 64) + addr}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}
