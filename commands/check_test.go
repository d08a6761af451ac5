package commands_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlserver/rlserver/commands"
	"github.com/rlserver/rlserver/resp"
)

// mustSet sends commands that must not fail.
func (w *world) mustSet(tb testing.TB, lines ...string) {
	tb.Helper()
	for _, line := range lines {
		if out, _ := w.send([]byte(line + "\r\n")); strings.HasPrefix(string(out), "-") {
			tb.Fatalf("%s: %s", line, out)
		}
	}
}

// checkFrame is the request that the tests of cost ask.
const checkFrame = "*6\r\n$8\r\nRL.CHECK\r\n$7\r\nuser:42\r\n$4\r\nTIER\r\n$4\r\ngold\r\n$8\r\nENDPOINT\r\n$7\r\nGET /p/\r\n"

// scopes are policies for checkFrame, one more a case.
func scopes() []string {
	return []string{
		"RL.POLICY.SET gold LIMIT 100 WINDOW 1s TIER gold",
		"RL.POLICY.SET global LIMIT 100 WINDOW 1s PER - SCOPE global",
		"RL.POLICY.SET trial LIMIT 10 WINDOW 1s MODE shadow",
	}
}

func TestCheckDoesNotAllocate(t *testing.T) {
	for n := range scopes() {
		t.Run(fmt.Sprintf("policies=%d", n+1), func(t *testing.T) {
			w := newWorld(t)
			w.mustSet(t, scopes()[:n+1]...)
			batch := func() {
				s := w.session
				s.Received(copy(s.Buffer(), checkFrame))
				if s.Process(w.now) != resp.StatusRead {
					t.Fatal("the batch did not run")
				}
				s.Sent(len(s.Output()))
				w.now += 1_000_000 // allowed and denied in turn
			}
			batch()
			if n := testing.AllocsPerRun(1000, batch); n != 0 {
				t.Errorf("%v allocations an RL.CHECK", n)
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	for n := range scopes() {
		b.Run(fmt.Sprintf("policies=%d", n+1), func(b *testing.B) {
			w := newWorld(b)
			w.mustSet(b, scopes()[:n+1]...)
			s := w.session
			b.ReportAllocs()
			for b.Loop() {
				s.Received(copy(s.Buffer(), checkFrame))
				s.Process(w.now)
				s.Sent(len(s.Output()))
				w.now += 1000
			}
		})
	}
}

func TestPolicyScripts(t *testing.T) { runScripts(t, "testdata/policies") }

// However many ask at once, of two scopes both are charged or none.
func TestCheckIsAllOrNothing(t *testing.T) {
	w := newWorld(t)
	w.mustSet(t, "RL.POLICY.SET client LIMIT 60 WINDOW 366d", "RL.POLICY.SET all LIMIT 100 WINDOW 366d PER - SCOPE global")
	var all sync.WaitGroup
	var mu sync.Mutex
	passed := map[string]int{}
	for id := range int64(8) {
		s := w.connect(10 + id)
		all.Go(func() {
			client := fmt.Sprintf("c%d", id%2)
			for range 50 {
				out, _ := exchange(s, []byte("RL.CHECK "+client+"\r\n"), w.now)
				mu.Lock()
				if strings.HasPrefix(string(out), "*10\r\n:1\r\n") {
					passed[client]++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if sum := passed["c0"] + passed["c1"]; sum != 100 || passed["c0"] > 60 || passed["c1"] > 60 {
		t.Errorf("%v passed of 100", passed)
	}
	for client, n := range passed {
		out, _ := w.send([]byte("RL.INSPECT " + client + " POLICY client\r\n"))
		if want := fmt.Sprintf(`"remaining" %d `, 60-n); !strings.Contains(show(t, out), want) {
			t.Errorf("%d of %s passed, and its bucket is %s", n, client, show(t, out))
		}
	}
	total := w.handler.PolicyTotals()
	if want := (commands.PolicyCount{Decisions: 800, Denied: total.Denied}); !cmp.Equal(want, total) || total.Denied < 300 {
		t.Errorf("counted %+v", total)
	}
}

// A million policies of single clients do not take a million counters, the sum
// misses none of them, and those of deleted ones make room.
func TestPolicyCountsAreBounded(t *testing.T) {
	w := newWorld(t)
	const clients = 15_000
	set := func(i int) string { return fmt.Sprintf("RL.POLICY.SET p%d LIMIT 1 WINDOW 1d CLIENT c%d", i, i) }
	for i := range clients {
		w.mustSet(t, set(i), fmt.Sprintf("RL.CHECK c%d", i))
	}
	if n := len(w.handler.PolicyCounts()); n > 10_000 || n < 9_000 {
		t.Errorf("%d policies have counters", n)
	}
	if total := w.handler.PolicyTotals(); total.Decisions != clients || total.Denied != 0 {
		t.Errorf("%+v", total)
	}
	for i := range clients - 1 {
		w.mustSet(t, fmt.Sprintf("RL.POLICY.DEL p%d", i))
	}
	w.handler.PolicyCounts()
	w.mustSet(t, fmt.Sprintf("RL.CHECK c%d", clients-1))
	counts := w.handler.PolicyCounts()
	if len(counts) != 1 || counts[0].Name != fmt.Sprintf("p%d", clients-1) || counts[0].Denied != 1 {
		t.Errorf("%+v", counts)
	}
}
