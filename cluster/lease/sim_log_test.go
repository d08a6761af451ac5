package lease

import (
	"maps"
	"slices"
)

// The simulator's log: one sequence of committed entries for all nodes. A
// node's state machine is the state after the entries it has applied, so two
// nodes that applied the same entries share it.

// row is what the log knows of a node.
type row struct {
	epoch   uint64
	nonce   Nonce
	lease   int64
	removed bool
}

// slotRow is what it knows of a slot.
type slotRow struct {
	owner   NodeID // "": nobody
	version uint64
}

// state is a state machine's, after one entry. It is never changed: the next
// entry makes another. It is the Replicated of the simulator's nodes.
type state struct {
	applied     uint64
	rows        map[NodeID]row
	voters      []NodeID
	votersIndex uint64
	slots       []slotRow

	registered []NodeID // derived
	longest    int64
}

func (s *state) Applied() uint64        { return s.applied }
func (s *state) Epoch(id NodeID) uint64 { return s.rows[id].epoch }
func (s *state) Nonce(id NodeID) Nonce  { return s.rows[id].nonce }
func (s *state) Lease(id NodeID) int64  { return s.rows[id].lease }
func (s *state) LongestLease() int64    { return s.longest }
func (s *state) Registered() []NodeID   { return s.registered }
func (s *state) Voters() []NodeID       { return s.voters }
func (s *state) VotersIndex() uint64    { return s.votersIndex }
func (s *state) clone(index uint64) *state {
	return &state{
		applied:     index,
		rows:        maps.Clone(s.rows),
		voters:      s.voters,
		votersIndex: s.votersIndex,
		slots:       slices.Clone(s.slots),
	}
}

// derive fills in what follows from the rows.
func (s *state) derive() {
	s.registered, s.longest = nil, 0
	for id, r := range s.rows {
		if r.epoch != 0 {
			s.registered = append(s.registered, id)
			s.longest = max(s.longest, r.lease)
		}
	}
	slices.Sort(s.registered)
}

// entry is one of the log: it changes a copy of the state that it is given, and
// says whether it had an effect.
type entry interface {
	apply(s *state, index uint64) bool
}

// registerEntry is rule 1. A nonce counts once, so that a copy that comes late
// has no effect.
type registerEntry struct {
	node NodeID
	Register
}

func (e registerEntry) apply(s *state, index uint64) bool {
	r := s.rows[e.node]
	if r.removed || r.nonce == e.Nonce {
		return false
	}
	s.rows[e.node] = row{epoch: index, nonce: e.Nonce, lease: e.Lease}
	return true
}

// takeOverEntry is rule 5. An operator's word needs no witnesses.
type takeOverEntry struct {
	TakeOver
	operator      bool
	targets       []NodeID // of the i-th slot of the node: targets[i mod their number]
	anyWitness    bool     // a mutant: the epochs that witnesses signed with do not count
	staleAccepted bool     // a mutant: the node's own epoch does not count
}

func (e takeOverEntry) apply(s *state, index uint64) bool {
	r := s.rows[e.Node]
	if r.epoch == 0 || r.epoch != e.Epoch && !e.staleAccepted {
		return false
	}
	if !e.operator {
		n := 0
		for _, w := range e.Witnesses {
			voter := slices.Contains(s.voters, w.Node)
			same := w.Epoch != 0 && w.Epoch == s.rows[w.Node].epoch
			if voter && (same || e.anyWitness) {
				n++
			}
		}
		if n < quorum(len(s.voters)) {
			return false
		}
	}
	r.epoch = 0
	s.rows[e.Node] = r
	i := 0
	for slot := range s.slots {
		if s.slots[slot].owner != e.Node {
			continue
		}
		owner := NodeID("")
		if len(e.targets) > 0 {
			owner = e.targets[i%len(e.targets)]
		}
		if s.rows[owner].epoch == 0 {
			owner = ""
		}
		s.slots[slot] = slotRow{owner: owner, version: index}
		i++
	}
	return true
}

// assignEntry gives slots that nobody owns to nodes that are up.
type assignEntry struct {
	owners map[int]NodeID
}

func (e assignEntry) apply(s *state, index uint64) bool {
	done := false
	for slot, owner := range e.owners {
		if s.slots[slot].owner == "" && s.rows[owner].epoch != 0 {
			s.slots[slot] = slotRow{owner: owner, version: index}
			done = true
		}
	}
	return done
}

// removeEntry takes a node that is no voter and owns nothing out for ever.
type removeEntry struct {
	node NodeID
}

func (e removeEntry) apply(s *state, _ uint64) bool {
	owns := slices.ContainsFunc(s.slots, func(r slotRow) bool { return r.owner == e.node })
	r := s.rows[e.node]
	if owns || r.removed || slices.Contains(s.voters, e.node) {
		return false
	}
	r.epoch, r.removed = 0, true
	s.rows[e.node] = r
	return true
}

// votersEntry changes the set of voters that the leader knew. The log refuses
// it where that set is not the present one any more.
type votersEntry struct {
	from uint64
	set  []NodeID
}

func (e votersEntry) apply(s *state, index uint64) bool {
	if e.from != s.votersIndex || slices.ContainsFunc(e.set, func(id NodeID) bool { return s.rows[id].removed }) {
		return false
	}
	s.voters, s.votersIndex = e.set, index
	return true
}

// ledger is the committed log and the state after each entry; states[0] is the
// one before the first.
type ledger struct {
	states []*state
}

func newLedger(slots int) *ledger {
	first := &state{rows: make(map[NodeID]row), slots: make([]slotRow, slots)}
	return &ledger{states: []*state{first}}
}

func (l *ledger) last() uint64 { return uint64(len(l.states) - 1) }

func (l *ledger) newest() *state { return l.states[l.last()] }

// commit appends an entry and tells whether it had an effect.
func (l *ledger) commit(e entry) bool {
	index := l.last() + 1
	next := l.newest().clone(index)
	done := e.apply(next, index)
	next.derive()
	l.states = append(l.states, next)
	return done
}
