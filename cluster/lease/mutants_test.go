package lease

import "testing"

// mutants are the rules with one clause left out each, and within how many
// seeds the simulator has to notice.
func mutants() map[string]mutant {
	return map[string]mutant{
		"rule 1: a registration by an earlier process counts": {faults: faults{anyProcess: true}},
		"rule 2: promises count from their receipt":           {faults: faults{countFromReceipt: true}},
		"rule 2: no factor for the clocks' rates":             {faults: faults{noDriftFactor: true}},
		"rule 2: a voter promises after it has withdrawn":     {faults: faults{forgetWithdrawal: true}},
		"rule 3: no guard":                                     {noGuard: true},
		"rule 3: no second check":                              {noSecondCheck: true},
		"rule 4: no wait after the start":                      {faults: faults{noStartWait: true}},
		"rule 5: the epochs of witnesses are not compared":     {faults: faults{noWitnessEpoch: true}},
		"rule 5: the epoch that is taken over is not compared": {noNodeEpoch: true},
		"rule 6: buckets start full":                           {startFull: true},
		"rule 7: voters change without reports":                {faults: faults{noReport: true}},
	}
}

func TestMutants(t *testing.T) {
	for name, m := range mutants() {
		t.Run(name, func(t *testing.T) {
			caught, first := 0, uint64(0)
			for seed := uint64(1); seed <= simSeeds(t); seed++ {
				if newWorld(seed, m).run() != nil {
					caught++
					if first == 0 {
						first = seed
					}
				}
			}
			t.Logf("%s: %d caught, first %d", name, caught, first)
		})
	}
}
