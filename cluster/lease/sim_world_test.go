package lease

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Durations of true time, in nanoseconds.
const (
	ms     = int64(1_000_000)
	second = 1000 * ms
)

// simLength is how long a run lasts.
const simLength = 60 * second

// mutant is a set of clauses that are left out: faults in the nodes, the others
// where the simulator itself plays a part.
type mutant struct {
	faults
	noNodeEpoch   bool  // the log does not compare the epoch that is taken over
	noGuard       bool  // a lease ends with its promises
	noSecondCheck bool  // replies leave unchecked
	startFull     bool  // after a take-over buckets start full: rule 6
	story         story // in which the clause matters most
}

// weather is how bad a run is.
type weather struct {
	tail      float64 // the share of messages that take up to 4 s
	drop      float64 // the share that is lost
	late      float64 // the share of proposals that commit up to 4 s late
	everyMean int64   // a fault happens this often
}

// world is one run: true time, the nodes, the network between them, the log,
// and what watches them.
type world struct {
	seed    uint64
	rng     *rand.Rand
	now     int64 // true time; nothing but the simulator knows it
	queue   queue
	mutant  mutant
	rho     int64 // parts per million
	weather weather
	story   story
	log     *ledger
	nodes   []*simNode
	cuts    [][]int64 // from, to: cut until
	leader  *simNode  // whom the log accepts entries from; others may believe they lead
	leadBad int64     // since when the leader cannot lead, 0: it can
	wanted  []NodeID  // the set of voters that is wanted
	slots   *slotWorld
	stats   simStats
	broken  error
}

type simStats struct {
	takeOvers, registrations, voterChanges, forced, removed int
	admitted, dropped, crashes, pauses, cuts                int
}

func newWorld(seed uint64, m mutant) *world {
	w := &world{seed: seed, rng: rand.New(rand.NewPCG(seed, 0x1ea5e)), mutant: m}
	w.rho = []int64{10_000, 10_000, 50_000}[w.rng.IntN(3)]
	w.weather = weather{
		tail:      []float64{0, 0.01, 0.05, 0.2}[w.rng.IntN(4)],
		drop:      []float64{0, 0.01, 0.1}[w.rng.IntN(3)],
		late:      []float64{0.02, 0.1, 0.3}[w.rng.IntN(3)],
		everyMean: []int64{500 * ms, second, 2 * second, 5 * second}[w.rng.IntN(4)],
	}
	w.story = chosenStory(w.rng.IntN(8))
	if m.story != anyStory {
		w.story = m.story
	}
	w.log = newLedger(simSlots)
	w.slots = newSlotWorld(w)
	count := 3 + w.rng.IntN(3)
	for i := range count {
		w.nodes = append(w.nodes, &simNode{w: w, index: i, id: NodeID(fmt.Sprintf("node-%d", i))})
		w.cuts = append(w.cuts, make([]int64, count))
	}
	voters := min([]int{1, 2, 3, 3, 3, 3, 4, 5}[w.rng.IntN(8)], count)
	for _, n := range w.nodes[:voters] {
		w.wanted = append(w.wanted, n.id)
	}
	return w
}

// run plays the seed to its end, or to the first violation.
func (w *world) run() error {
	w.log.commit(votersEntry{set: slices.Clone(w.wanted)})
	for _, n := range w.nodes {
		w.after(w.between(0, 200*ms), n.start)
	}
	w.every(100*ms, w.elect)
	w.slots.begin()
	w.story.tell(w)
	for len(w.queue.heap) > 0 && w.broken == nil {
		e := w.queue.pop()
		if e.at > simLength {
			break
		}
		w.now = e.at
		e.do()
	}
	if w.broken == nil {
		w.slots.audit()
	}
	return w.broken
}

func (w *world) fail(format string, args ...any) {
	if w.broken == nil {
		w.broken = fmt.Errorf("seed %d at %d.%03d s: %s", w.seed, w.now/second, w.now%second/ms, fmt.Sprintf(format, args...))
	}
}

func (w *world) after(d int64, do func()) { w.queue.push(w.now+d, do) }

// every repeats, with some play.
func (w *world) every(d int64, do func()) {
	w.after(w.between(d*9/10, d*11/10), func() {
		do()
		w.every(d, do)
	})
}

func (w *world) between(low, high int64) int64 {
	if high <= low {
		return low
	}
	return low + w.rng.Int64N(high-low)
}

func (w *world) chance(p float64) bool { return w.rng.Float64() < p }

// mean is an exponentially distributed duration.
func (w *world) mean(d int64) int64 { return int64(w.rng.ExpFloat64() * float64(d)) }

func (w *world) node(id NodeID) *simNode {
	for _, n := range w.nodes {
		if n.id == id {
			return n
		}
	}
	return nil
}
