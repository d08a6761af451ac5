package lease

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

var simSeed = flag.Uint64("sim.seed", 0, "run this seed of the simulator alone")

// simSeeds is how many seeds are run: SIM_SEEDS, or those of every test.
func simSeeds(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("SIM_SEEDS")
	if text == "" {
		return 200
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatalf("SIM_SEEDS: %v", err)
	}
	return n
}

// TestSimulation runs seeds of a minute each.
func TestSimulation(t *testing.T) {
	first, last := uint64(1), simSeeds(t)
	if *simSeed != 0 {
		first, last = *simSeed, *simSeed
	}
	var sum simStats
	for seed := first; seed <= last; seed++ {
		w := newWorld(seed, mutant{})
		if err := w.run(); err != nil {
			t.Errorf("%v (run it alone with -sim.seed=%d)", err, seed)
		}
		sum.add(w.stats)
	}
	t.Logf("%d seeds of %d s: %+v", last-first+1, simLength/second, sum)
	if *simSeed == 0 && (sum.takeOvers == 0 || sum.voterChanges == 0 || sum.admitted == 0 || sum.dropped == 0) {
		t.Error("the simulator tests nothing")
	}
}

func (s *simStats) add(o simStats) {
	s.takeOvers += o.takeOvers
	s.registrations += o.registrations
	s.voterChanges += o.voterChanges
	s.forced += o.forced
	s.removed += o.removed
	s.admitted += o.admitted
	s.dropped += o.dropped
	s.crashes += o.crashes
	s.pauses += o.pauses
	s.cuts += o.cuts
}
