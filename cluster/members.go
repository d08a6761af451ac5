package cluster

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/policy"
	"github.com/rlserver/rlserver/raftfsm"
)

// Member is a member as this node sees it.
type Member struct {
	raftfsm.Member // of one that has not registered yet only the ID is known

	Leads, Votes bool
	Alive        bool // it answered of late
}

// Members lists the members by name, and voters that never registered last.
func (n *Node) Members() []Member {
	view, leader := n.raft.View(), n.raft.Leader()
	var all []Member
	add := func(m raftfsm.Member) {
		alive := m.ID == n.raft.ID()
		if !alive {
			n.mu.Lock()
			p := n.peers[m.ID]
			n.mu.Unlock()
			alive = p != nil && n.alive(p)
		}
		all = append(all, Member{Member: m, Leads: m.ID == leader, Votes: view.Votes(m.ID), Alive: alive})
	}
	for _, m := range view.Members() {
		add(m)
	}
	for _, id := range view.Voters {
		if _, registered := view.Member(id); !registered {
			add(raftfsm.Member{ID: id})
		}
	}
	return all
}

// Field is a line of Status.
type Field struct{ Name, Value string }

// Status tells how the cluster fares, as this node sees it.
func (n *Node) Status() []Field {
	view := n.raft.View()
	state, ready := "ok", "yes"
	leader := n.raft.Leader()
	if leader == "" {
		state = "no leader"
	}
	if err := n.Ready(); err != nil {
		state, ready = "starting", err.Error()
	}
	lease := "none needed"
	if n.bus != nil {
		lease = n.leaseStatus()
	}
	members := n.Members()
	alive, voters, votersAlive := 0, 0, 0
	for _, m := range members {
		if m.Alive {
			alive++
		}
		if m.Votes {
			voters++
			if m.Alive {
				votersAlive++
			}
		}
	}
	number := func(v uint64) string { return strconv.FormatUint(v, 10) }
	return []Field{
		{"state", state},
		{"ready", ready},
		{"cluster", view.Cluster},
		{"node", n.cfg.Name},
		{"id", n.raft.ID()},
		{"epoch", number(n.raft.Epoch())},
		{"leader", n.leaderName(leader)},
		{"lease", lease},
		{"members", strconv.Itoa(len(members))},
		{"members_alive", strconv.Itoa(alive)},
		{"voters", strconv.Itoa(voters)},
		{"voters_alive", strconv.Itoa(votersAlive)},
		{"applied", number(view.Index)},
		{"policies", strconv.Itoa(view.Policies.Len())},
		{"feature_level", number(view.Level())},
	}
}

// leaseStatus is how long this node may serve from now on.
func (n *Node) leaseStatus() string {
	l := n.leases.Load()
	if l == nil {
		return "none yet"
	}
	left, sole := l.margin()
	switch {
	case sole:
		return "held, this node is the only voter"
	case left <= 0:
		return fmt.Sprintf("none; %d lapses", l.lapses.Load())
	}
	return fmt.Sprintf("held for %s; %d lapses", left.Round(time.Millisecond), l.lapses.Load())
}

func (n *Node) leaderName(id string) string {
	if id == "" {
		return ""
	}
	return n.nameOf(id)
}

// Add lets a node of this name join, also one that was removed; Remove makes
// one a member no more, Promote makes one a voter. They call done once, within
// a bounded time, from any goroutine or from within.
func (n *Node) Add(name string, done func(error)) {
	n.change(done, func(ctx context.Context) error {
		_, err := n.raft.Propose(ctx, raftfsm.NodeAdd{Name: name})
		return err
	})
}

// Remove is described at Add.
func (n *Node) Remove(name string, done func(error)) {
	n.change(done, func(ctx context.Context) error { return n.raft.Remove(ctx, name) })
}

// Promote is described at Add.
func (n *Node) Promote(name string, done func(error)) {
	n.change(done, func(ctx context.Context) error { return n.raft.Promote(ctx, name) })
}

func (n *Node) change(done func(error), do func(context.Context) error) {
	n.write(func(ctx context.Context) { done(do(ctx)) }, done)
}

// write does something that waits, on a goroutine of its own, or refuses to
// where too much waits already.
func (n *Node) write(do func(context.Context), refuse func(error)) {
	select {
	case n.writes <- struct{}{}:
	default:
		refuse(fmt.Errorf("%d writes are under way, or the node stops: %w", maxWrites, policy.ErrNotWritten))
		return
	}
	go func() {
		defer func() { <-n.writes }()
		do(n.ctx)
	}()
}

// Policies is the replicated set of policies, as commands and the admin port
// want it.
type Policies struct{ n *Node }

// Policies is the replicated set of policies.
func (n *Node) Policies() Policies { return Policies{n} }

// View is the set as this node knows it now.
func (p Policies) View() *policy.View { return p.n.raft.View().Policies }

// Bounds are those of what is set through this node.
func (p Policies) Bounds() limit.Bounds { return p.n.cfg.Bounds }

// Set replaces the policy of this name, if it has the wanted version: nil is
// any, 0 none. It does not wait: done is called once, from any goroutine.
func (p Policies) Set(set *policy.Policy, ifVersion *uint64, done func(version uint64, err error)) {
	rule, err := policy.Compile(*set, p.n.cfg.Bounds)
	if err != nil {
		done(0, err)
		return
	}
	p.propose(raftfsm.PolicySet{Rule: rule, IfVersion: ifVersion}, func(r raftfsm.Result, err error) { done(r.Version, err) })
}

// Delete removes a policy, if it has the wanted version; otherwise it is like
// Set.
func (p Policies) Delete(name string, ifVersion *uint64, done func(existed bool, err error)) {
	p.propose(raftfsm.PolicyDelete{Name: name, IfVersion: ifVersion}, func(r raftfsm.Result, err error) { done(r.Existed, err) })
}

// Replace makes a set the whole of what there is, or with keep adds it to what
// there is: all of it, or nothing.
func (p Policies) Replace(set []*policy.Rule, keep bool, done func(error)) {
	p.propose(raftfsm.PolicyReplace{Rules: set, Keep: keep}, func(_ raftfsm.Result, err error) { done(err) })
}

func (p Policies) propose(c raftfsm.Command, done func(raftfsm.Result, error)) {
	p.n.write(func(ctx context.Context) { done(p.n.raft.Propose(ctx, c)) },
		func(err error) { done(raftfsm.Result{}, err) })
}

func compare(a, b string) int { return cmp.Compare(a, b) }
