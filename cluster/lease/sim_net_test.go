package lease

// delay is how long a message takes.
func (w *world) delay() int64 {
	if w.chance(w.weather.tail) {
		return w.between(0, 4*second)
	}
	if w.chance(0.1) {
		return w.between(2*ms, 30*ms)
	}
	return w.between(ms/20, 2*ms)
}

// open tells whether messages pass from one node to another.
func (w *world) open(from, to *simNode) bool { return w.cuts[from.index][to.index] <= w.now }

// bothWays tells whether two nodes can talk.
func (w *world) bothWays(a, b *simNode) bool { return w.open(a, b) && w.open(b, a) }

// cut closes one way for a while.
func (w *world) cut(from, to *simNode, d int64) {
	if from != to {
		w.cuts[from.index][to.index] = max(w.cuts[from.index][to.index], w.now+d)
	}
}

// send puts a message on its way, in the bytes of the wire. It reaches whatever
// process runs at the other end when it arrives, even if that started later.
func (w *world) send(from *simNode, e Envelope) {
	to := w.node(e.To)
	if to == nil || !w.open(from, to) || w.chance(w.weather.drop) {
		return
	}
	wire := Encode(nil, e.Message)
	copies := 1
	if w.chance(0.01) {
		copies = 2
	}
	for range copies {
		w.after(w.delay(), func() {
			if !w.open(from, to) {
				return
			}
			m, err := Decode(wire)
			if err != nil {
				w.fail("%#v does not decode: %v", e.Message, err)
				return
			}
			to.whenAwake(func() { to.receive(from.id, m) })
		})
	}
}
