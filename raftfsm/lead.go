package raftfsm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/rlserver/rlserver/policy"
)

// lead does what a leader has to do while this node is it.
func (n *Node) lead() {
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-tick.C:
		case <-n.raft.LeaderCh():
			n.leading.Store(false)
		}
		if err := n.keepClusterID(); err != nil {
			n.die(err)
		}
		if n.raft.State() != raft.Leader {
			n.leading.Store(false)
			continue
		}
		if err := n.tend(); err != nil && n.raft.State() == raft.Leader && n.ctx.Err() == nil {
			n.cfg.Log.Warn("what the cluster's leader has to do failed; it is tried again", "err", err)
		}
	}
}

// tend brings the cluster nearer to what it should be.
func (n *Node) tend() error {
	ctx, cancel := context.WithTimeout(n.ctx, n.times(writeTimeout))
	defer cancel()
	if !n.leading.Load() {
		// All that former leaders committed is applied first.
		if err := n.raft.Barrier(n.times(writeTimeout)).Error(); err != nil {
			return err
		}
		n.leading.Store(true)
	}
	if n.View().Cluster == "" {
		id, err := newID(n.cfg.Rand)
		if err != nil {
			return err
		}
		var refused *RefusedError
		if _, err := n.Propose(ctx, Found{id}); err != nil && !errors.As(err, &refused) {
			return err
		}
	}
	n.growSnapshots()
	return n.promoteNext(ctx)
}

// growSnapshots lets the log grow with the set, so that writing snapshots costs
// no more than a share of what is written.
func (n *Node) growSnapshots() {
	want := max(snapshotEach, uint64(n.View().Policies.Len()))
	if c := n.raft.ReloadableConfig(); c.SnapshotThreshold < want || c.SnapshotThreshold > 2*want {
		c.SnapshotThreshold = want
		if err := n.raft.ReloadConfig(c); err != nil {
			n.cfg.Log.Warn("the log's snapshots keep their distance", "err", err)
		}
	}
}

// empty has the slots of a member go to others, which takes a while: those of
// one that is up are moved, those of one that is down taken over.
func (n *Node) empty(ctx context.Context, m Member) error {
	owned := n.View().Owned(m.ID)
	if owned == 0 {
		return nil
	}
	if !m.Drains {
		var request RequestID
		if _, err := n.cfg.Rand.Read(request[:]); err != nil {
			return err
		}
		if _, err := n.apply(ctx, Encode(request, NodeDrain{m.ID, true, m.Leaves})); err != nil {
			return err
		}
	}
	return fmt.Errorf("%d slots of %s are on their way to other nodes: ask again; %w", owned, m.Name, policy.ErrNotWritten)
}

// promoteNext lets one more node vote if there are too few: of those that have
// registered, which shows that they follow, the first that was admitted.
func (n *Node) promoteNext(ctx context.Context) error {
	n.members.Lock()
	defer n.members.Unlock()
	servers, err := n.servers(ctx)
	if err != nil {
		return err
	}
	voters, next := 0, raft.Server{}
	for _, s := range servers {
		if s.Suffrage == raft.Voter {
			voters++
		} else if m, is := n.View().Member(string(s.ID)); is && m.Epoch != 0 && next.ID == "" {
			next = s
		}
	}
	if voters >= n.cfg.Voters || next.ID == "" {
		return nil
	}
	index, err := n.changeVoters()
	if err != nil {
		return nil // it is tried again
	}
	n.cfg.Log.Info("a member becomes a voter", "id", next.ID)
	return await(ctx, n.raft.AddVoter(next.ID, next.Address, index, n.times(writeTimeout)))
}

// servers are those of the latest configuration.
func (n *Node) servers(ctx context.Context) ([]raft.Server, error) {
	f := n.raft.GetConfiguration()
	if err := await(ctx, f); err != nil {
		return nil, err
	}
	return f.Configuration().Servers, nil
}

func (n *Node) server(ctx context.Context, id string) (raft.Server, bool, error) {
	servers, err := n.servers(ctx)
	if err != nil {
		return raft.Server{}, false, err
	}
	for _, s := range servers {
		if string(s.ID) == id {
			return s, true, nil
		}
	}
	return raft.Server{}, false, nil
}

// admit lets a node follow the log. One that is a member already may have
// moved.
func (n *Node) admit(ctx context.Context, id, busAddr string) error {
	n.members.Lock()
	defer n.members.Unlock()
	if name, removed := n.View().Removed(id); removed {
		return &RefusedError{fmt.Sprintf("node %s (%s) was removed from the cluster: RL.NODE.ADD %s lets it come back, or start it with an empty directory", name, id, name)}
	}
	n.Heard(id, busAddr)
	if _, is, err := n.server(ctx, id); err != nil || is {
		return err
	}
	return await(ctx, n.raft.AddNonvoter(raft.ServerID(id), raft.ServerAddress(id+"@"+busAddr), 0, n.times(writeTimeout)))
}

func (n *Node) promote(ctx context.Context, id string) error {
	n.members.Lock()
	defer n.members.Unlock()
	s, is, err := n.server(ctx, id)
	switch {
	case err != nil:
		return err
	case !is:
		return &RefusedError{fmt.Sprintf("node %s is no member", id)}
	case s.Suffrage == raft.Voter:
		return nil
	}
	index, err := n.changeVoters()
	if err != nil {
		return err
	}
	return await(ctx, n.raft.AddVoter(s.ID, s.Address, index, n.times(writeTimeout)))
}

// changeVoters says whether the voters may be changed now: leases are promised
// by majorities of them, so every node must count by the present ones before
// there are others. The index is that of the configuration that is to be
// replaced, and of no other.
func (n *Node) changeVoters() (index uint64, err error) {
	f := n.raft.GetConfiguration()
	var voters []string
	for _, s := range f.Configuration().Servers {
		if s.Suffrage == raft.Voter {
			voters = append(voters, string(s.ID))
		}
	}
	slices.Sort(voters)
	view := n.View()
	if !slices.Equal(voters, view.Voters) {
		return 0, fmt.Errorf("the last change of voters is not complete: %w", policy.ErrNotWritten)
	}
	if n.cfg.VotersMayChange == nil {
		return f.Index(), nil
	}
	by, ok := n.cfg.VotersMayChange(view.VotersIndex)
	switch {
	case ok:
		return f.Index(), nil
	case len(by) > 0:
		return 0, fmt.Errorf("the voters cannot change before these have reported by whom they count, or were declared down: %s; %w", strings.Join(by, ", "), policy.ErrNotWritten)
	}
	return 0, fmt.Errorf("the voters cannot change yet: %w", policy.ErrNotWritten)
}

// remove takes a node out of the cluster: its vote, its membership, its copy
// of the log, in this order, so that none is left half way that counts.
func (n *Node) remove(ctx context.Context, id string) (Result, error) {
	n.members.Lock()
	defer n.members.Unlock()
	if id == n.id {
		return Result{}, &RefusedError{"this node leads: stop it, or ask for its removal again when another node does"}
	}
	s, is, err := n.server(ctx, id)
	if err != nil {
		return Result{}, err
	}
	m, registered := n.View().Member(id)
	if !is && !registered {
		return Result{}, &RefusedError{fmt.Sprintf("node %s is no member", id)}
	}
	if err := n.empty(ctx, m); err != nil {
		return Result{}, err
	}
	if is && s.Suffrage == raft.Voter {
		index, err := n.changeVoters()
		if err != nil {
			return Result{}, err
		}
		if err := await(ctx, n.raft.DemoteVoter(s.ID, index, n.times(writeTimeout))); err != nil {
			return Result{}, err
		}
	}
	var result Result
	if registered {
		var request RequestID
		if _, err := n.cfg.Rand.Read(request[:]); err != nil {
			return result, err
		}
		if result, err = n.apply(ctx, Encode(request, NodeRemove{id})); err != nil {
			return result, err
		}
		if result.Refusal != Done {
			return result, &RefusedError{result.Reason}
		}
	}
	if is {
		return result, await(ctx, n.raft.RemoveServer(s.ID, 0, n.times(writeTimeout)))
	}
	return result, nil
}
