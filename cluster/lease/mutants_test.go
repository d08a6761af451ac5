package lease

import "testing"

// mutants are the rules with one clause left out each, in the story where it
// matters, if it does not matter in all.
func mutants() []struct {
	name string
	mutant
} {
	return []struct {
		name string
		mutant
	}{
		{"rule 1: a registration by an earlier process counts", mutant{faults: faults{anyProcess: true}, story: chaosStory}},
		{"rule 2: promises count from their receipt", mutant{faults: faults{countFromReceipt: true}}},
		{"rule 2: no factor for the clocks' rates", mutant{faults: faults{noDriftFactor: true}}},
		{"rule 3: no guard", mutant{noGuard: true}},
		{"rule 3: no second check", mutant{noSecondCheck: true}},
		{"rule 4: no wait after the start", mutant{faults: faults{noStartWait: true}, story: squeezeStory}},
		{"rule 4: a withdrawal is forgotten", mutant{faults: faults{forgetWithdrawal: true}}},
		{"rule 5: the epochs of witnesses are not compared", mutant{faults: faults{noWitnessEpoch: true}, story: squeezeStory}},
		{"rule 5: the epoch that is taken over is not compared", mutant{noNodeEpoch: true}},
		{"rule 6: buckets start full", mutant{startFull: true}},
		{"rule 7: voters change without reports", mutant{faults: faults{noReport: true}, story: votersStory}},
	}
}

// TestMutants shows that the simulator would notice: each clause that is left
// out breaks an invariant within a few seeds.
func TestMutants(t *testing.T) {
	const within = 150
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			for seed := uint64(1); seed <= within; seed++ {
				if err := newWorld(seed, m.mutant).run(); err != nil {
					t.Log(err)
					return
				}
			}
			t.Errorf("not noticed in %d seeds", within)
		})
	}
}
