package raftfsm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/rlserver/rlserver/policy"
)

// operation is what a client of the history did: it set a policy's limit, or
// (0) read it.
type operation struct{ policy, set int }

// histories says what a set of policies may answer: each is a register.
func histories() porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			parts := map[int][]porcupine.Operation{}
			for _, op := range history {
				of := op.Input.(operation).policy
				parts[of] = append(parts[of], op)
			}
			var all [][]porcupine.Operation
			for _, part := range parts {
				all = append(all, part)
			}
			return all
		},
		Init: func() any { return 0 },
		Step: func(state, input, output any) (bool, any) {
			if op := input.(operation); op.set != 0 {
				return true, op.set
			}
			return output.(int) == state.(int), state
		},
	}
}

// While leaders are killed and started again, what was acknowledged is there
// for all who ask afterwards, and nothing else.
func TestHistoriesWithKills(t *testing.T) {
	w := newNetwork(t)
	all := w.found(3)
	var mu sync.Mutex // of all
	node := func(i int) *testNode {
		mu.Lock()
		defer mu.Unlock()
		return all[i]
	}
	start := time.Now()
	var history []porcupine.Operation
	var historyMu sync.Mutex
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for client := range 6 {
		clients.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(client)))
			for n := 1; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				op := operation{policy: rng.IntN(2)}
				if rng.IntN(2) == 0 {
					op.set = client*1_000_000 + n
				}
				tn := node(rng.IntN(3))
				name := fmt.Sprintf("p%d", op.policy)
				called := time.Since(start)
				var err error
				got := 0
				if op.set != 0 {
					err = tn.set(name, op.set)
				} else if _, err = tn.Propose(t.Context(), NodeAdd{"nobody"}); err == nil {
					// Something that was committed later than the question was asked.
					got = tn.limit(name)
				}
				o := porcupine.Operation{ClientId: client, Input: op, Output: got, Call: called.Nanoseconds(), Return: time.Since(start).Nanoseconds()}
				switch {
				case err == nil:
				case op.set != 0 && !errors.Is(err, policy.ErrNotWritten):
					o.Return = time.Hour.Nanoseconds() // it may happen at any time, or never
				default:
					continue
				}
				historyMu.Lock()
				history = append(history, o)
				historyMu.Unlock()
			}
		})
	}
	done := func() int {
		historyMu.Lock()
		defer historyMu.Unlock()
		return len(history)
	}
	for range 3 {
		before := done()
		eventually(t, "operations", func() bool { return done() > before+50 })
		leads, others := leader(t, []*testNode{node(0), node(1), node(2)})
		leads.kill()
		before = done()
		eventually(t, "operations without it", func() bool { return done() > before+50 })
		back := w.start(leads.dir, leads.name)
		for _, tn := range others {
			back.Heard(tn.ID(), tn.addr)
			tn.Heard(back.ID(), back.addr)
		}
		w.register(back)
		mu.Lock()
		for i := range all {
			if all[i] == leads {
				all[i] = back
			}
		}
		mu.Unlock()
	}
	close(stop)
	clients.Wait()
	if result := porcupine.CheckOperationsTimeout(histories(), history, time.Minute); result != porcupine.Ok {
		t.Errorf("of %d operations: %v", len(history), result)
	}
	t.Logf("%d operations", len(history))
}
