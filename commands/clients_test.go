package commands_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlserver/rlserver/resp"
)

const second = int64(1_000_000_000)

// crowd is a server with four connections; the first is the one that asks.
func crowd(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.session.Describe(func(i *resp.ClientInfo) { i.LocalAddr = "l1" })
	w.server.clients = []resp.ClientInfo{
		w.session.Info(),
		{ID: 2, RemoteAddr: "a2", LocalAddr: "l1", User: "default", CreatedAt: w.now - 100*second},
		{ID: 3, RemoteAddr: "a3", LocalAddr: "l2", User: "admin", Channels: 2, CreatedAt: w.now - 10*second},
		{ID: 4, RemoteAddr: "a4", LocalAddr: "l2", User: "default", Patterns: 1, Proto: 3, Name: "four", LibName: "lib", LibVer: "1"},
	}
	return w
}

func TestClientKill(t *testing.T) {
	for _, test := range []struct {
		words string
		reply string
		left  string // ids
	}{
		{"a3", "OK", "1 2 4"},
		{"a5", "(error) ERR No such client", "1 2 3 4"},
		{"ID 2", "1", "1 3 4"},
		{"ID 5", "0", "1 2 3 4"},
		{"ADDR a4", "1", "1 2 3"},
		{"addr a4 id 2", "0", "1 2 3 4"},
		{"LADDR l2", "2", "1 2"},
		{"LADDR l1", "1", "1 3 4"},
		{"USER default", "2", "1 3"},
		{"USER nobody", "(error) ERR No such user 'nobody'", "1 2 3 4"},
		{"TYPE pubsub", "2", "1 2"},
		{"TYPE NORMAL", "1", "1 3 4"},
		{"TYPE master", "0", "1 2 3 4"},
		{"TYPE robot", "(error) ERR Unknown client type 'robot'", "1 2 3 4"},
		{"MAXAGE 10 TYPE normal", "1", "1 3 4"},
		{"MAXAGE 11", "2", "1 3"}, // that of 4 is unknown, and so long ago
		{"MAXAGE 0", "(error) ERR maxage should be greater than 0", "1 2 3 4"},
		{"MAXAGE x", "(error) ERR maxage is not an integer or out of range", "1 2 3 4"},
		{"ID 0", "(error) ERR client-id should be greater than 0", "1 2 3 4"},
		{"ID 2 FOO 3", "(error) ERR syntax error", "1 2 3 4"},
		{"ID 2 ID", "(error) ERR syntax error", "1 2 3 4"},
		{"SKIPME maybe", "(error) ERR syntax error", "1 2 3 4"},
		{"SKIPME yes", "3", "1"},
		{"ID 1", "0", "1 2 3 4"},
		// Who cuts their own connection is answered first.
		{"ID 1 SKIPME no", "1\n(closed)", "1 2 3 4"},
		{"LADDR l1 SKIPME NO", "2\n(closed)", "1 3 4"},
		{"192.0.2.1:1001", "OK\n(closed)", "1 2 3 4"},
	} {
		t.Run(test.words, func(t *testing.T) {
			w := crowd(t)
			out, status := w.send([]byte("CLIENT KILL " + test.words + "\r\n"))
			reply := strings.TrimSpace(show(t, out))
			if status == resp.StatusClose {
				reply += "\n(closed)"
			}
			var left []string
			for _, c := range w.server.clients {
				left = append(left, strconv.FormatInt(c.ID, 10))
			}
			if reply != test.reply || strings.Join(left, " ") != test.left {
				t.Errorf("it is answered by %s and leaves %v; want %s and %s", reply, left, test.reply, test.left)
			}
		})
	}
}

func TestClientList(t *testing.T) {
	for _, test := range []struct {
		words string
		want  string // ids, or the error
	}{
		{"", "1 2 3 4"},
		{"TYPE normal", "1 2"},
		{"type PUBSUB", "3 4"},
		{"TYPE replica", ""},
		{"ID 4 2 9", "2 4"},
		{"ID 0", ""},
		{"ID x", "(error) ERR Invalid client ID"},
		{"ID", "(error) ERR syntax error"},
		{"TYPE", "(error) ERR syntax error"},
		{"TYPE a b", "(error) ERR syntax error"},
		{"FOO", "(error) ERR syntax error"},
		{"TYPE robot", "(error) ERR Unknown client type 'robot'"},
	} {
		w := crowd(t)
		out, _ := w.send([]byte("CLIENT LIST " + test.words + "\r\n"))
		got := strings.TrimSpace(show(t, out))
		if !strings.HasPrefix(got, "(error)") {
			got = ids(got)
		}
		if got != test.want {
			t.Errorf("CLIENT LIST %s: %s, want %s", test.words, got, test.want)
		}
	}
}

// ids picks the numbers of connections from the reply of CLIENT LIST.
func ids(lines string) string {
	var found []string
	for line := range strings.SplitSeq(strings.Trim(lines, `"`), `\n`) {
		if word, _, _ := strings.Cut(line, " "); word != "" {
			found = append(found, strings.TrimPrefix(word, "id="))
		}
	}
	return strings.Join(found, " ")
}

func TestClientLine(t *testing.T) {
	w := crowd(t)
	w.server.clients[3].CreatedAt = w.now - 90*second
	w.server.clients[3].LastAt = w.now - 1999*second/1000
	out, _ := w.send([]byte("CLIENT LIST ID 4\r\n"))
	want := `"id=4 addr=a4 laddr=l2 fd=-1 name=four age=90 idle=1 flags=P db=0 sub=0 psub=1 ssub=0 multi=-1 ` +
		`qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r cmd=NULL ` +
		`user=default redir=-1 resp=3 lib-name=lib lib-ver=1\n"` + "\n"
	if diff := cmp.Diff(want, show(t, out)); diff != "" {
		t.Error(diff)
	}
}

// TestSubscriptionsAreDescribed: others see them, until they are gone.
func TestSubscriptionsAreDescribed(t *testing.T) {
	w := newWorld(t)
	for _, step := range []struct {
		send               string
		channels, patterns int
	}{
		{"SUBSCRIBE a b b", 2, 0},
		{"PSUBSCRIBE p", 2, 1},
		{"UNSUBSCRIBE a", 1, 1},
		{"UNSUBSCRIBE", 0, 1},
		{"SUBSCRIBE a", 1, 1},
		{"RESET", 0, 0},
	} {
		w.send([]byte(step.send + "\r\n"))
		if i := w.session.Info(); i.Channels != step.channels || i.Patterns != step.patterns {
			t.Errorf("after %s: %d channels, %d patterns", step.send, i.Channels, i.Patterns)
		}
	}
}
