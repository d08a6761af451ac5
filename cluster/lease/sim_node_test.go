package lease

// simNode is a machine with at most one process on it.
type simNode struct {
	w     *world
	index int
	id    NodeID

	// The machine's clock: base at the true time ref, and its rate, in parts per
	// million more than true time's.
	base, ref, rate int64

	up      bool
	process int   // counts the starts
	paused  int64 // until then
	deaf    int64 // until then the log does not reach it: it was removed from it
	kept    uint64
	node    *Node
	applied uint64
	lease   Lease
	leads   bool
	wake    int64 // the true time of the timer that is set
	timer   int   // counts timers, so that only the last one counts
	buckets [simSlots]simBucket
}

func (n *simNode) clock() int64 {
	return n.base + (n.w.now-n.ref)*(1_000_000+n.rate)/1_000_000
}

// setRate changes the rate of the clock; most clocks are as wrong as allowed.
func (n *simNode) setRate() {
	n.base, n.ref = n.clock(), n.w.now
	switch n.w.rng.IntN(5) {
	case 0, 1:
		n.rate = n.w.rho
	case 2, 3:
		n.rate = -n.w.rho
	default:
		n.rate = n.w.between(-n.w.rho, n.w.rho)
	}
}

func (n *simNode) view() *state { return n.w.log.states[n.applied] }

// start starts a process, whose state machine may be rewound: it shows what was
// on disk, and what comes after that again later.
func (n *simNode) start() {
	w := n.w
	if n.up {
		return
	}
	if n.process == 0 || w.chance(0.3) { // the machine started too
		n.base, n.ref = w.between(0, 1000*second), w.now
	}
	n.setRate()
	n.process++
	n.up, n.leads, n.paused = true, false, 0
	n.lease, n.wake = Lease{}, 0
	n.buckets = [simSlots]simBucket{}
	cfg := DefaultConfig(n.id)
	cfg.Rho = w.rho
	if w.mutant.noGuard {
		cfg.Guard = 0
	}
	n.node = New(cfg, w.rng.Uint64()|1, n.clock())
	n.node.faults = w.mutant.faults
	n.applied = n.kept
	if w.chance(0.5) && n.applied > 0 {
		n.applied = uint64(w.rng.Int64N(int64(n.applied) + 1))
	}
	n.observe()
	n.loop(100*ms, n.lead)
	n.loop(200*ms, n.catchUp)
}

// crash ends the process. What its state machine had applied may be on disk.
func (n *simNode) crash() {
	n.up, n.leads, n.lease, n.node = false, false, Lease{}, nil
	n.kept = n.applied
}

// loop repeats while the process lives.
func (n *simNode) loop(d int64, do func()) {
	process := n.process
	var again func()
	again = func() {
		if !n.up || n.process != process {
			return
		}
		do()
		n.w.after(n.w.between(d*9/10, d*11/10), func() { n.whenAwake(again) })
	}
	n.w.after(n.w.between(0, d), func() { n.whenAwake(again) })
}

// whenAwake does something now, or when a pause is over, in any order then. It
// is lost if nothing runs.
func (n *simNode) whenAwake(do func()) {
	switch {
	case !n.up:
	case n.paused > n.w.now:
		n.w.queue.push(n.paused+n.w.between(0, 3*ms), func() { n.whenAwake(do) })
	default:
		do()
	}
}

func (n *simNode) receive(from NodeID, m Message) { n.done(n.node.Receive(n.clock(), from, m)) }

func (n *simNode) observe() {
	n.slotsObserved()
	n.done(n.node.Observe(n.clock(), n.view()))
}

// advance applies the log up to an index, entry by entry or at once, as from a
// snapshot.
func (n *simNode) advance(to uint64) {
	if to <= n.applied {
		return
	}
	if n.w.chance(0.5) {
		for n.applied+1 < to {
			n.applied++
			n.observe()
		}
	}
	n.applied = to
	n.observe()
}

// done does what a step of the node wants.
func (n *simNode) done(out Output) {
	n.lease = out.Lease
	n.w.slots.check(n)
	for _, e := range out.Send {
		n.w.send(n, e)
	}
	if out.Register != nil {
		n.w.propose(n, registerEntry{node: n.id, Register: *out.Register})
	}
	for _, t := range out.TakeOvers {
		n.w.propose(n, n.takeOver(t))
	}
	n.setTimer()
}

// setTimer wakes the node when it is due, or a little later.
func (n *simNode) setTimer() {
	wait := max(n.node.Due()-n.clock(), 0)
	at := n.w.now + wait*1_000_000/(1_000_000+n.rate) + 1
	if n.wake > n.w.now && n.wake <= at {
		return
	}
	n.timer++
	timer, process := n.timer, n.process
	late := n.w.between(0, 3*ms)
	if n.w.chance(0.02) {
		late = n.w.between(0, 150*ms)
	}
	n.wake = at + late
	n.w.queue.push(n.wake, func() {
		n.whenAwake(func() {
			if n.timer == timer && n.process == process {
				n.wake = 0
				n.done(n.node.Tick(n.clock()))
			}
		})
	})
}
