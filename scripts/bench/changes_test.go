package main

import (
	"bufio"
	"math"
	"net"
	"strings"
	"testing"
	"time"
)

// answering is a server that gives the same answer to every request of eight
// words, until the test ends.
func answering(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			go func() {
				defer conn.Close()
				lines := bufio.NewScanner(conn)
				for n := 1; lines.Scan(); n++ {
					if n%17 != 0 { // a count, and two lines a word
						continue
					}
					if _, err := conn.Write([]byte(answer)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

func TestChange(t *testing.T) {
	for _, depth := range changeDepths {
		s, err := change(t.Context(), answering(t, ":7\r\n"), depth, 20*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if s.refused != 0 || !(s.perSecond > 0) || !(s.p50 > 0) || s.p99 < s.p50 {
			t.Errorf("pipeline %d: got %+v", depth, s)
		}
	}
}

// TestChangeRefused: what is refused is no change, and is counted.
func TestChangeRefused(t *testing.T) {
	s, err := change(t.Context(), answering(t, "-TRYAGAIN no leader is known\r\n"), 1, 20*time.Millisecond)
	if err != nil || s.perSecond != 0 || s.refused == 0 {
		t.Errorf("got %+v, %v", s, err)
	}
}

// TestChangeWrong: any other error ends the run at once, and is told once.
func TestChangeWrong(t *testing.T) {
	_, err := change(t.Context(), answering(t, "-ERR limit must be a number\r\n"), 1, time.Minute)
	if err == nil || strings.Count(err.Error(), "limit must be a number") != 1 || strings.Contains(err.Error(), "closed") {
		t.Errorf("got %v", err)
	}
}

func TestQuantile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i + 1)
	}
	for _, tt := range []struct {
		xs          []float64
		share, want float64
	}{
		{hundred, 0.5, 50},
		{hundred, 0.99, 99},
		{hundred, 1, 100},
		{hundred, 0, 1},
		{[]float64{7}, 0.99, 7},
	} {
		if got := quantile(tt.xs, tt.share); got != tt.want {
			t.Errorf("%v of %d: got %v, want %v", tt.share, len(tt.xs), got, tt.want)
		}
	}
	if got := quantile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("of none: got %v", got)
	}
}

func TestField(t *testing.T) {
	status := reply{elems: []reply{{text: "leader"}, {text: "node1"}, {text: "ready"}, {text: "yes"}, {text: "odd"}}}
	for name, want := range map[string]string{"leader": "node1", "ready": "yes", "node1": "", "odd": ""} {
		if got := status.field(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestPoliciesReport(t *testing.T) {
	r := policiesReport{
		report: report{options: options{rounds: 2, scale: 1, keys: 1000, date: "2026-12-07"}},
		sync:   127 * time.Microsecond,
		changes: []changeRow{{
			name: "a follower of three", depth: 16,
			samples: []changeSample{{3000, 130, 260, 0}, {3200, 134, 268, 0}},
		}},
	}
	for _, row := range policyRows() {
		r.rows = append(r.rows, &target{row: row})
	}
	r.cells = map[cell][]sample{
		{incrName, 16}:                       {{speed{perSecond: 900_000}, 1}, {speed{perSecond: 900_000}, 1}},
		{"rlserver RL.CHECK, one scope", 16}: {{speed{perSecond: 450_000}, 2}, {speed{perSecond: 450_000}, 2}},
	}
	text, err := r.render()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n| a follower of three | 16 | 3,100 | 132 | 264 | 0 |\n",
		"\n| rlserver RL.CHECK, one scope | - | 450,000 · 2.00 | - |\n",
		"\n| rlserver RL.CHECK, one scope | - | 0.50 (0.50 to 0.50) | - |\n",
		"takes 0.127 ms until",
		"10.0 s\neach, medians over 2 rounds.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
}
