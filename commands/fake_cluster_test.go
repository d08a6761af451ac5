package commands_test

import (
	"errors"
	"fmt"
	"sync"

	"github.com/rlserver/rlserver/commands"
	"github.com/rlserver/rlserver/policy"
)

// fakeCluster has two members, and notes what it is told to change.
type fakeCluster struct {
	mu      sync.Mutex
	changes []string
	err     error    // of every change
	later   []func() // changes that are answered when the test says so
	slow    bool     // they are
}

func newFakeCluster() *fakeCluster { return &fakeCluster{} }

func (*fakeCluster) Nodes() []commands.NodeInfo {
	return []commands.NodeInfo{
		{Name: "node-1", ID: "aa", Addr: "192.0.2.1:7379", BusAddr: "192.0.2.1:17379", Role: "leader", State: "alive", Slots: 10000, Epoch: 3},
		{Name: "node-2", ID: "bb", Addr: "192.0.2.2:7379", BusAddr: "192.0.2.2:17379", Role: "voter", State: "dead", Slots: 6384},
	}
}

func (f *fakeCluster) Change(change commands.NodeChange, name string, done func(error)) {
	f.change(done, "%d %s", change, name)
}

func (*fakeCluster) Slots() []commands.SlotRange {
	return []commands.SlotRange{
		{First: 0, Last: 9999, Owner: "node-1", Replica: "node-2", Version: 12},
		{First: 10000, Last: 16382, Owner: "node-2", Version: 13},
		{First: 16383, Last: 16383},
	}
}

func (f *fakeCluster) Move(first, last uint16, to string, done func(error)) {
	f.change(done, "%d-%d to %s", first, last, to)
}

func (*fakeCluster) Status() []commands.Field {
	return []commands.Field{{Name: "state", Value: "ok"}, {Name: "members", Value: "2"}}
}

func (f *fakeCluster) change(done func(error), format string, a ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	answer := func() {
		f.changes = append(f.changes, fmt.Sprintf(format, a...))
		done(f.err)
	}
	if f.slow {
		f.later = append(f.later, answer)
		return
	}
	answer()
}

// fail says, for scripts, which error every write gets: none, a refusal, or
// one of the two of a cluster without a majority.
func writeFailure(word string) error {
	switch word {
	case "refused":
		return errors.New("there is no node of that name")
	case "unwritten":
		return fmt.Errorf("no majority of the voters answered within 2s; %w", policy.ErrNotWritten)
	case "unknown":
		return fmt.Errorf("%w: no majority confirmed the write within 2s, it may still be made", policy.ErrOutcomeUnknown)
	}
	return nil
}
