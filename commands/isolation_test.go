package commands_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/rlserver/rlserver/resp"
)

// Each transaction takes a unit of two keys in turn; whoever comes between
// would be seen in what remains. Eight connections at once, and beside them
// single requests on the same keys.
func TestTransactionsAreIsolated(t *testing.T) {
	w := newWorld(t)
	w.owner.pause = runtime.Gosched // between any two commands
	const one = "RL.ALLOW a 1000000 366d"
	transaction := []byte(strings.Join([]string{"MULTI", one, "RL.ALLOW b 1000000 366d", one, "RL.REFUND a 1", one, "EXEC", ""}, "\r\n"))
	var all sync.WaitGroup
	for id := range int64(8) {
		s := w.connect(100 + id)
		all.Go(func() {
			for range 50 {
				out, _ := exchange(s, transaction, w.now)
				_, replies, _ := strings.Cut(string(bytes.ReplaceAll(out, []byte("\r\n"), []byte(" "))), "*5 ")
				var a, b, c, left, d, skip int
				if _, err := fmt.Sscanf(replies, "*5 :%d :%d :%d :%d :%d *5 :%d :%d :%d :%d :%d *5 :%d :%d :%d :%d :%d *2 :%d :%d *5 :%d :%d :%d",
					&skip, &skip, &a, &skip, &skip, &skip, &skip, &b, &skip, &skip, &skip, &skip, &c, &skip, &skip, &skip, &left, &skip, &skip, &d); err != nil {
					t.Errorf("%q: %v", replies, err)
					return
				}
				if c != a-1 || left != a || d != a-1 {
					t.Errorf("somebody came between: %d, %d, %d and %d remain", a, c, left, d)
				}
			}
		})
		single := w.connect(200 + id)
		all.Go(func() {
			for range 50 {
				exchange(single, []byte(one+"\r\nRL.INSPECT b\r\nRL.RESET c\r\n"), w.now)
			}
		})
	}
	all.Wait()
	if info, found := w.store.Inspect([]byte("a"), w.now); !found || info.Remaining != 1_000_000-8*50*3 {
		t.Errorf("%+v, %v", info, found)
	}
}

// What holds a slot is let go however the transaction ends: in parts, by a
// lost slot, by a panic, with its replies switched off.
func TestIsolationEnds(t *testing.T) {
	for name, test := range map[string]struct {
		send   string
		change func(*world)
	}{
		"in parts":    {"MULTI\r\nRL.INSPECT k\r\nRL.INSPECT k\r\nRL.ALLOW k 9 1h\r\nRL.ALLOW k 9 1h\r\nEXEC\r\n", func(w *world) { w.limits.MaxBatch = 2 }},
		"lost slot":   {"MULTI\r\nRL.ALLOW k 9 1h\r\nEXEC\r\n", func(w *world) { w.steer(t, []string{"lose", "k"}) }},
		"panic":       {"MULTI\r\nRL.ALLOW k 9 1h\r\nRL.INSPECT k\r\nEXEC\r\n", func(w *world) { w.owner.panics = true }},
		"no replies":  {"CLIENT REPLY OFF\r\nMULTI\r\nRL.ALLOW k 9 1h\r\nEXEC\r\n", func(*world) {}},
		"more behind": {"MULTI\r\nRL.ALLOW k 9 1h\r\nEXEC\r\nRL.ALLOW k 9 1h\r\nRL.INSPECT k\r\n", func(*world) {}},
		"aborted":     {"MULTI\r\nRL.ALLOW k 9 1h\r\nNOSUCH\r\nEXEC\r\n", func(*world) {}},
		"discarded":   {"MULTI\r\nRL.ALLOW k 9 1h\r\nDISCARD\r\nMULTI\r\nRL.ALLOW k 9 1h\r\nRESET\r\n", func(*world) {}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			test.change(w)
			events := &resp.Events{}
			s := resp.NewSession(resp.ClientInfo{ID: 7}, w.handler, &w.limits, events)
			exchange(s, []byte(test.send), w.now)
			w.store.Hold([]uint16{w.owner.Slot([]byte("k"))}).Release() // would wait for ever
		})
	}
}

// A command that may take long and names no key keeps nobody waiting, and what
// follows it sees the time after it.
func TestSlowCommandsLetOthersIn(t *testing.T) {
	w := newWorld(t)
	slots := []uint16{w.owner.Slot([]byte("k"))}
	asked := 0
	w.server.during = func() {
		asked++
		w.store.Hold(slots).Release() // would wait for ever
	}
	in := []byte("MULTI\r\nRL.ALLOW k 9 1h\r\nCONFIG GET databases\r\nRL.ALLOW k 9 1h\r\nEXEC\r\nCONFIG GET databases\r\nTIME\r\n")
	s := w.session
	s.Received(copy(s.Buffer(), in))
	var out []byte
	parts := 1
	for s.Process(w.now) == resp.StatusFlush {
		parts++
		w.now += 5_000_000_000
	}
	out = append(out, s.Output()...)
	if asked != 2 || parts != 3 {
		t.Errorf("asked %d times, in %d parts", asked, parts)
	}
	if want := fmt.Sprintf("*2\r\n$10\r\n%d\r\n$1\r\n0\r\n", (start+10_000_000_000)/1_000_000_000); !bytes.HasSuffix(out, []byte(want)) {
		t.Errorf("got %q, want it to end in %q", out, want)
	}
}
