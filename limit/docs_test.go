package limit_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rlserver/rlserver/limit"
)

// TestDocs runs the traces of docs/algorithms.md. A trace is for one key: a
// line `RL.ALLOW key limit window [burst] [ALGO name]` gives the rule from there
// on, the lines after it a request and its reply. Time 0 starts a window.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/algorithms.md")
	if err != nil {
		t.Fatal(err)
	}
	traces, covered := 0, map[limit.Algorithm]bool{}
	for i, block := range strings.Split(string(page), "```trace\n") {
		if i == 0 {
			continue
		}
		lines, _, _ := strings.Cut(block, "```")
		tr := trace{t: t, key: key{tb: t}}
		for line := range strings.Lines(lines) {
			tr.line(line)
		}
		traces++
		covered[tr.rule.Algorithm] = true
	}
	if len(covered) != limit.AlgorithmCount {
		t.Errorf("%d traces cover the algorithms %v, want all %d", traces, covered, limit.AlgorithmCount)
	}
}

type trace struct {
	t    *testing.T
	key  key
	rule limit.Spec
}

func (tr *trace) line(line string) {
	call, _, _ := strings.Cut(line, "#")
	call, want, _ := strings.Cut(call, "->")
	words := strings.Fields(call)
	if words[0] == "RL.ALLOW" {
		tr.newRule(words[2:])
		return
	}
	got := tr.request(tr.duration(words[1]), words[2:])
	if want := strings.Join(strings.Fields(want), " "); got != want {
		tr.t.Errorf("%s: got %s", strings.TrimSpace(line), got)
	}
}

// newRule reads limit window [burst] [ALGO name].
func (tr *trace) newRule(words []string) {
	algorithm, burst := limit.TokenBucket, int64(0)
	if n := len(words); words[n-2] == "ALGO" {
		var err error
		if algorithm, err = limit.ParseAlgorithm([]byte(words[n-1])); err != nil {
			tr.t.Fatal(err)
		}
		words = words[:n-2]
	}
	if len(words) == 3 {
		burst = tr.number(words[2])
	}
	tr.rule = rule(tr.t, algorithm, tr.number(words[0]), tr.duration(words[1]), burst)
}

// request reads [COST n] [ATMOST] [PEEK], or RL.REFUND n.
func (tr *trace) request(at int64, words []string) (reply string) {
	now := epoch - epoch%day + at
	req := limit.Request{Cost: 1}
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "ATMOST":
			req.AtMost = true
		case "PEEK":
			req.Peek = true
		case "COST":
			i++
			req.Cost = tr.number(words[i])
		case "RL.REFUND":
			refunded, remaining := tr.key.refund(now, tr.number(words[i+1]))
			return fmt.Sprint(refunded, remaining)
		default:
			tr.t.Fatalf("what is %q?", words[i])
		}
	}
	d := tr.key.decide(tr.rule, now, req)
	return fmt.Sprint(d.Allowed, d.Limit, d.Remaining, d.WaitMS, d.ResetMS)
}

func (tr *trace) number(word string) int64 {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		tr.t.Fatal(err)
	}
	return n
}

func (tr *trace) duration(word string) int64 {
	d, err := time.ParseDuration(word)
	if err != nil {
		tr.t.Fatal(err)
	}
	return int64(d)
}
