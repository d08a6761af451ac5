package commands_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlserver/rlserver/resp"
)

// A session whose write has no answer yet holds back what follows, keeps
// nobody waiting for the slots of its transaction, and goes on when the
// answer comes, whoever brings it.
func TestWritesWait(t *testing.T) {
	w := newWorld(t)
	w.cluster.slow = true
	s := w.session
	s.Received(copy(s.Buffer(), "MULTI\r\nRL.ALLOW k 9 1m\r\nRL.NODE.DRAIN node-2\r\nRL.ALLOW k 9 1m\r\nEXEC\r\nPING\r\n"))
	if status := s.Process(w.now); status != resp.StatusWait {
		t.Fatalf("status %d", status)
	}
	w.store.Hold([]uint16{w.owner.Slot([]byte("k"))}).Release() // would wait for ever
	woken := make(chan struct{})
	s.Start(func() { close(woken) })
	if len(w.cluster.changes) > 0 {
		t.Fatalf("answered already: %q", w.cluster.changes)
	}
	if out, _ := exchange(w.connect(2), []byte("RL.ALLOW k 9 1m\r\n"), w.now); show(t, out) != "[1 9 7 0 13334]\n" {
		t.Errorf("another connection got %q", out)
	}
	go w.cluster.later[0]()
	<-woken
	if status := s.Process(w.now); status != resp.StatusFlush && status != resp.StatusRead {
		t.Fatalf("status %d", status)
	}
	for s.Process(w.now) == resp.StatusFlush {
	}
	want := "OK\nQUEUED\nQUEUED\nQUEUED\n[[1 9 8 0 6667] OK [1 9 6 0 20000]]\nPONG\n"
	if diff := cmp.Diff(want, show(t, s.Output())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"3 node-2"}, w.cluster.changes); diff != "" {
		t.Error(diff)
	}
}

// A server that is given neither policies nor a cluster says so, and answers
// for itself.
func TestAlone(t *testing.T) {
	w := newWorld(t)
	cfg := w.config()
	cfg.Policies, cfg.PolicyBuckets, cfg.Cluster = nil, nil, nil
	w.serve(t, cfg)
	const none = "(error) ERR this server has no policies; RL.ALLOW takes its limits with the request\n"
	for line, want := range map[string]string{
		"RL.CHECK c":                            none,
		"RL.EXPLAIN c":                          none,
		"RL.RESET c POLICY p":                   none,
		"RL.POLICY.SET p LIMIT 1 WINDOW 1s":     none,
		"RL.POLICY.GET p":                       none,
		"RL.POLICY.DEL p":                       none,
		"RL.POLICY.LIST":                        none,
		"RL.NODE.LIST":                          `[["name" "node-1" "id" "` + strings.Repeat("ab", 20) + `" "addr" "127.0.0.1:7379" "bus_addr" "" "role" "leader" "state" "alive" "slots" 16384 "epoch" 1]]` + "\n",
		"RL.SLOT.LIST":                          `[[0 16383 "node-1" (nil) 1]]` + "\n",
		"RL.NODE.DRAIN node-1":                  "(error) ERR this server is alone: it is no member of a cluster\n",
		"RL.SLOT.MOVE 0 1 node-1":               "(error) ERR this server is alone: it is no member of a cluster\n",
		"RL.CLUSTER.STATUS":                     `["state" "ok" "mode" "standalone" "node" "node-1" "members" "1" "slots_owned" "16384"]` + "\n",
		"MULTI\r\nRL.NODE.DRAIN node-1\r\nEXEC": "OK\nQUEUED\n[(error) ERR this server is alone: it is no member of a cluster]\n",
		"MULTI\r\nRL.CHECK c\r\nPING\r\nEXEC":   "OK\nQUEUED\nQUEUED\n[" + strings.TrimSuffix(none, "\n") + " PONG]\n",
		"RL.NODE.DRAIN \"\"":                    "(error) ERR name must be 1 to 512 bytes, got 0\n",
		"RL.SLOT.MOVE 0 1 \"\"":                 "(error) ERR name must be 1 to 512 bytes, got 0\n",
	} {
		out, _ := w.send([]byte(line + "\r\n"))
		if diff := cmp.Diff(want, show(t, out)); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
	if got := w.handler.PolicyCounts(); got != nil {
		t.Errorf("counts of no policies: %v", got)
	}
}
