package raftfsm

import (
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/rlserver/rlserver/policy"
)

// state is what the log has led to. Its maps are replaced, not changed, so that
// a View can share them.
type state struct {
	index   uint64 // of the last entry
	cluster string // its id; empty: not founded
	level   uint64 // the highest feature level of an entry
	// By id. changeMembers makes the copy that may be changed.
	members     map[string]Member
	removed     map[string]string // tombstones: the names of nodes by id
	voters      []string          // ids, ascending
	votersIndex uint64            // of the log's entry that made them so
	policies    *policy.View
	slots       *slotTable
	requests    requests
}

func newState() *state {
	return &state{members: map[string]Member{}, removed: map[string]string{}, policies: &policy.View{}, slots: &slotTable{}, requests: newRequests()}
}

func (s *state) changeMembers() map[string]Member {
	s.members = maps.Clone(s.members)
	return s.members
}

// View is what the log has led to, immutable.
type View struct {
	Index       uint64 // of the last entry that was applied
	Cluster     string // its id; empty: not founded
	Policies    *policy.View
	Voters      []string // ids, ascending
	VotersIndex uint64   // of the log's entry that made them so

	members map[string]Member
	removed map[string]string
	slots   *slotTable
}

// Member returns the member of that id.
func (v *View) Member(id string) (Member, bool) {
	m, is := v.members[id]
	return m, is
}

// Named returns the member of that name.
func (v *View) Named(name string) (Member, bool) {
	for _, m := range v.members {
		if m.Name == name {
			return m, true
		}
	}
	return Member{}, false
}

// Members lists the members by name.
func (v *View) Members() []Member {
	all := slices.Collect(maps.Values(v.members))
	slices.SortFunc(all, func(a, b Member) int { return compareText(a.Name, b.Name) })
	return all
}

// Removed returns the name that a removed node of that id had.
func (v *View) Removed(id string) (name string, removed bool) {
	name, removed = v.removed[id]
	return name, removed
}

// Votes says whether the member of that id votes.
func (v *View) Votes(id string) bool {
	_, votes := slices.BinarySearch(v.Voters, id)
	return votes
}

// Level is the feature level that all members understand.
func (v *View) Level() uint64 {
	least := uint64(Level)
	for _, m := range v.members {
		least = min(least, m.Level)
	}
	return least
}

// FSM applies the log. Raft calls it from one goroutine; View and Applied may
// be called from any.
type FSM struct {
	state *state
	view  atomic.Pointer[View]
	halt  func(error) // called once, when an entry cannot be understood
	err   error       // why it halted

	mu      sync.Mutex
	applied uint64 // as View().Index, for those who wait
	waiting map[chan struct{}]uint64
}

// NewFSM returns an FSM at the beginning of the log. halted is called if an
// entry cannot be understood: nothing is applied from then on, and the process
// must end.
func NewFSM(halted func(error)) *FSM {
	f := &FSM{state: newState(), halt: halted, waiting: map[chan struct{}]uint64{}}
	f.publish()
	return f
}

// View is what the log has led to so far.
func (f *FSM) View() *View { return f.view.Load() }

// publish makes the state visible, and wakes those who waited for it.
func (f *FSM) publish() {
	s := f.state
	f.view.Store(&View{
		Index: s.index, Cluster: s.cluster, Policies: s.policies, Voters: s.voters, VotersIndex: s.votersIndex,
		members: s.members, removed: s.removed, slots: s.slots,
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.applied = s.index
	for ch, index := range f.waiting {
		if index <= s.index {
			close(ch)
			delete(f.waiting, ch)
		}
	}
}

// Reached returns a channel that is closed once the entry of that index was
// applied, and a function to stop waiting for it.
func (f *FSM) Reached(index uint64) (reached <-chan struct{}, forget func()) {
	ch := make(chan struct{})
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.applied >= index {
		close(ch)
		return ch, func() {}
	}
	f.waiting[ch] = index
	return ch, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.waiting, ch)
	}
}

var errHalted = errors.New("raftfsm: the log has an entry that cannot be understood")

// Apply applies one entry; what it returns is a Result, or an error if the
// entry cannot be understood. It implements raft.FSM.
func (f *FSM) Apply(log *raft.Log) any {
	if f.err != nil {
		return errHalted
	}
	id, command, err := Decode(log.Data)
	if err != nil {
		f.err = err
		f.halt(err)
		return errHalted
	}
	defer f.publish()
	f.state.index = log.Index
	if result, again := f.state.requests.find(id); again {
		return result
	}
	f.state.level = max(f.state.level, kinds()[command.kind()].level)
	result := command.apply(f.state, log.Index)
	result.Index = log.Index
	f.state.requests.remember(id, result)
	return result
}

// StoreConfiguration notes who votes. It implements raft.ConfigurationStore.
func (f *FSM) StoreConfiguration(index uint64, configuration raft.Configuration) {
	if f.err != nil {
		return
	}
	f.state.index = max(f.state.index, index)
	f.state.setVoters(index, configuration)
	f.publish()
}

func (s *state) setVoters(index uint64, configuration raft.Configuration) {
	voters := []string{}
	for _, server := range configuration.Servers {
		if server.Suffrage == raft.Voter {
			voters = append(voters, string(server.ID))
		}
	}
	slices.Sort(voters)
	if !slices.Equal(voters, s.voters) {
		s.voters, s.votersIndex = voters, index
	}
}

// Snapshot implements raft.FSM.
func (f *FSM) Snapshot() (raft.FSMSnapshot, error) {
	if f.err != nil {
		return nil, errHalted
	}
	s := *f.state
	s.requests = s.requests.clone()
	return &snapshot{&s}, nil
}

// Restore replaces everything by a snapshot. It implements raft.FSM.
func (f *FSM) Restore(r io.ReadCloser) error {
	s, err := readSnapshot(r)
	if err := errors.Join(err, r.Close()); err != nil {
		return err
	}
	f.state = s
	f.publish()
	return nil
}
