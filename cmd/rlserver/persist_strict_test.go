package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// rule is a limit of strictLimit in strictWindow by an algorithm, and how many
// an oracle that knows no more than that lets pass within any time.
type rule struct {
	algorithm string
	onLoss    string
	most      func(within time.Duration) int
}

const (
	strictLimit  = 40
	strictWindow = 2 * time.Second
)

// flowing is what a bucket of strictLimit lets pass that refills steadily, and
// windowed where at most so many windows are touched besides those that pass.
func flowing(within time.Duration) int {
	return strictLimit + int(strictLimit*within/strictWindow)
}

func windowed(besides int) func(time.Duration) int {
	return func(within time.Duration) int { return strictLimit * (int(within/strictWindow) + besides) }
}

func strictRules() []rule {
	const strict = "ONERROR closed ONLOSS empty FORCE"
	return []rule{
		{"token-bucket", strict, flowing},
		{"leaky-bucket", strict, flowing},
		{"sliding-log", strict, windowed(1)},
		{"sliding-window", strict, windowed(2)},
		{"fixed-window", strict, windowed(2)},
		{"token-bucket", "ONLOSS keep", flowing}, // the last: not strict
	}
}

// client is the name of one of a rule's clients.
func (r *rule) client(n int) string {
	return fmt.Sprintf("%s/%s/%d", r.algorithm, r.onLoss[len(r.onLoss)-4:], n)
}

// admission is a request that passed; it was decided between the two.
type admission struct{ sent, answered time.Time }

// admissions are those of each client, over all of a server's lives.
type admissions struct {
	mu sync.Mutex
	of map[string][]admission
}

// ask asks for clients at random until the server is gone.
func (a *admissions) ask(addr string, names []string, rng *rand.Rand) {
	c, err := tryDial(addr, nil)
	if err != nil {
		return
	}
	defer c.Close()
	for {
		name, sent := names[rng.IntN(len(names))], time.Now()
		reply, err := c.try("RL.CHECK " + name)
		if err != nil {
			return
		}
		if strings.HasPrefix(reply, "[:1 ") {
			a.mu.Lock()
			a.of[name] = append(a.of[name], admission{sent, time.Now()})
			a.mu.Unlock()
		}
	}
}

// over is by how many more than the oracle lets pass did, in the worst of all
// times that begin with one admission and end with another.
func (r *rule) over(all []admission) (worst int) {
	slices.SortFunc(all, func(a, b admission) int { return a.answered.Compare(b.answered) })
	for _, first := range all {
		passed := 0
		for _, next := range all {
			if next.sent.Before(first.sent) {
				continue
			}
			passed++
			worst = max(worst, passed-r.most(next.answered.Sub(first.sent)))
		}
	}
	return worst
}

// TestStrictKeysKilled kills a server under load at random moments, ten times.
// No strict key ever passes more than an oracle would that was never killed.
// One that is not strict does: else this would see nothing.
func TestStrictKeysKilled(t *testing.T) {
	const kills, perRule, askers = 10, 3, 4
	dir, seed := t.TempDir(), rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	rules := strictRules()
	var names []string
	s := startServer(t, "--dir", dir)
	for i, r := range rules {
		for n := range perRule {
			names = append(names, r.client(n))
			dial(t, s.addr, nil).expect(t, fmt.Sprintf("RL.POLICY.SET p%d-%d LIMIT %d WINDOW %s ALGO %s CLIENT %s %s",
				i, n, strictLimit, strictWindow, r.algorithm, r.client(n), r.onLoss), ":")
		}
	}
	passed := admissions{of: map[string][]admission{}}
	for range kills {
		var asking sync.WaitGroup
		for range askers {
			own := rand.New(rand.NewPCG(rng.Uint64(), 1))
			asking.Go(func() { passed.ask(s.addr, names, own) })
		}
		<-time.After(time.Duration(rng.Int64N(int64(1800 * time.Millisecond))))
		s.kill(t)
		asking.Wait()
		s = startServer(t, "--dir", dir)
	}
	for i, r := range rules {
		sum, worst := 0, 0
		for n := range perRule {
			all := passed.of[r.client(n)]
			sum, worst = sum+len(all), max(worst, r.over(all))
		}
		isStrict := i < len(rules)-1
		t.Logf("%s, %s: %d passed, at worst %d too many", r.algorithm, r.onLoss, sum, worst)
		if isStrict && (worst > 0 || sum == 0) {
			t.Errorf("%s passed %d too many", r.algorithm, worst)
		}
		if !isStrict && worst == 0 {
			t.Error("nothing was lost: the kills were not hard enough")
		}
	}
}

// TestStrictKeysStopped: a clean stop takes nothing from strict keys, nor does
// it give them anything, whether counts were lost before or not.
func TestStrictKeysStopped(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, "--dir", dir)
	c := dial(t, s.addr, nil)
	c.expect(t, "RL.POLICY.SET fast LIMIT 1000 WINDOW 100s CLIENT fast ONERROR closed ONLOSS empty FORCE", ":")
	for i := range 5 {
		c.expect(t, fmt.Sprintf("RL.POLICY.SET slow-%d LIMIT 100 WINDOW 30d CLIENT slow-%d ONERROR closed ONLOSS empty FORCE", i, i), ":")
		c.expect(t, fmt.Sprintf("RL.CHECK slow-%d COST %d", i, 10*i+1), "[:1 ")
	}
	for range 3 {
		s.stop(t)
		s = startServer(t, "--dir", dir)
		for i := range 5 {
			if got, want := checked(t, s.addr, fmt.Sprintf("slow-%d", i)), 100-(10*i+1); got != want {
				t.Errorf("slow-%d: %d remain after a clean stop, want %d", i, got, want)
			}
		}
	}
	s.kill(t)
	lost := time.Now()
	s = startServer(t, "--dir", dir)
	waiting := time.NewTicker(100 * time.Millisecond)
	defer waiting.Stop()
	for checked(t, s.addr, "fast") < 5 { // 10 a second come back
		<-waiting.C
		if time.Since(lost) > patience {
			t.Fatal("nothing comes back")
		}
	}
	for range 3 {
		before := checked(t, s.addr, "fast")
		s.stop(t)
		s = startServer(t, "--dir", dir)
		after, most := checked(t, s.addr, "fast"), int(10*time.Since(lost).Seconds())+1
		if after < before || after > most {
			t.Errorf("%d remain after a clean stop and %d before, at most %d may", after, before, most)
		}
		for i := range 5 {
			if got := checked(t, s.addr, fmt.Sprintf("slow-%d", i)); got != 0 {
				t.Errorf("slow-%d: %d remain after counts were lost", i, got)
			}
		}
	}
}

// checked is how much a client has left.
func checked(t *testing.T, addr, name string) int {
	t.Helper()
	reply := dial(t, addr, nil).ask(t, "RL.CHECK "+name+" COST 0")
	var allowed, limit, left int
	if _, err := fmt.Sscanf(reply, "[:%d :%d :%d ", &allowed, &limit, &left); err != nil {
		t.Fatalf("%s: %s", name, reply)
	}
	return left
}
