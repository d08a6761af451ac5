package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlserver/rlserver/cluster/bus"
	"github.com/rlserver/rlserver/raftfsm"
)

// Node is this process in its cluster.
type Node struct {
	cfg    Config
	raft   *raftfsm.Node
	opened chan struct{} // closed when raft is set

	bus     *bus.Bus // nil: the node is alone
	control *bus.Listener

	leaseLane, decideLane, streamLane *bus.Listener

	answers atomic.Value           // Answer: of questions about this node's own slots
	leases  atomic.Pointer[leases] // set once the node has registered

	mu    sync.Mutex
	peers map[string]*peer // by id

	writes     chan struct{} // one for each write of a client that is under way
	served     chan struct{} // one for each call of another node that is under way
	ready      atomic.Bool   // it latches
	registered chan struct{} // closed once the node is ready
	invited    atomic.Bool   // one of the peers has a cluster: join it
	shares     assigning     // for the loop
	trouble    repeats       // what the log was told last of a start that does not get on

	leave   sync.Once
	leaving chan struct{} // closed when the process is about to end

	fatal sync.Once
	ctx   context.Context // ends with Close
	stop  context.CancelFunc
	loops sync.WaitGroup
}

// Open starts the node. It goes on to find its cluster, or to found it, and to
// register there, by itself; see Registered and Ready.
func Open(cfg Config) (*Node, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	n := &Node{
		cfg:        cfg,
		opened:     make(chan struct{}),
		peers:      map[string]*peer{},
		writes:     make(chan struct{}, maxWrites),
		served:     make(chan struct{}, maxServed),
		registered: make(chan struct{}),
		leaving:    make(chan struct{}),
	}
	n.ctx, n.stop = context.WithCancel(context.Background())
	var err error
	if n.raft, err = raftfsm.Open(n.raftConfig()); err != nil {
		n.stop()
		if n.bus != nil {
			n.bus.Close()
		}
		return nil, err
	}
	close(n.opened)
	if n.bus != nil {
		n.serveBus()
	}
	n.loops.Go(n.run)
	return n, nil
}

func (n *Node) raftConfig() raftfsm.Config {
	c := raftfsm.Config{
		Dir: n.cfg.Dir, Name: n.cfg.Name, Addr: n.cfg.Addr, Voters: n.cfg.Voters, Multiplier: n.cfg.Multiplier,
		Now: n.cfg.Now, Rand: n.cfg.Rand, Log: n.cfg.Log, Fatal: n.die,
	}
	if n.cfg.Bus != nil {
		c.BusAddr = n.cfg.Bus.Addr
		c.Stream = n.openBus
		c.Forward = n.forward
		c.VotersMayChange = n.votersMayChange
	}
	return c
}

// run brings the node nearer to where it should be, step by step.
func (n *Node) run() {
	for n.ctx.Err() == nil {
		every := stepEvery
		if n.step() {
			every = settledEvery
		}
		wait := time.NewTimer(n.times(every))
		select {
		case <-wait.C:
		case <-n.ctx.Done():
			wait.Stop()
		}
	}
}

// step does what can be done now, and says whether the node is settled: it has
// registered and knows a leader.
func (n *Node) step() bool {
	var met []meeting
	if n.bus != nil {
		n.keepPeers()
		met = n.meetAll()
	}
	if err := n.gone(met); err != nil {
		n.die(err)
		return true
	}
	if n.raft.Epoch() == 0 {
		n.start(met)
	}
	n.assign()
	if !n.ready.Load() {
		if n.waitsFor() != nil {
			return false
		}
		n.ready.Store(true)
		close(n.registered)
	}
	return n.raft.Leader() != ""
}

// gone says why this process must not go on, if so.
func (n *Node) gone(met []meeting) error {
	// What this process has not heard since it registered, or what one of the
	// others says and another does not, may be old: the node may have been let
	// in again.
	name, removed := n.raft.View().Removed(n.raft.ID())
	if removed && n.raft.Epoch() != 0 {
		return removedError(name, n.raft.ID())
	}
	name, removed = "", false
	disputed := false
	for _, m := range met {
		if m.Removed != "" {
			name, removed = m.Removed, true
		} else if m.err == nil && m.InCluster && m.id != n.raft.ID() {
			disputed = true
		}
	}
	if removed && !disputed {
		return removedError(name, n.raft.ID())
	}
	if m, is := n.raft.View().Member(n.raft.ID()); is && n.raft.Epoch() != 0 && m.Epoch > n.raft.Epoch() && m.Nonce != n.raft.Nonce() {
		return fmt.Errorf("another process registered as node %s (%s), at %s: no two may have copies of one directory; this one ends", m.Name, m.ID, m.BusAddr)
	}
	return nil
}

func removedError(name, id string) error {
	return fmt.Errorf("node %s (%s) was removed from its cluster: start it with an empty directory, or let it come back with RL.NODE.ADD %s", name, id, name)
}

// start founds the cluster, joins it or registers, whichever is next.
func (n *Node) start(met []meeting) {
	if !n.raft.InCluster() {
		if err := n.found(met); err != nil {
			n.die(err)
			return
		}
	}
	for _, m := range met {
		// Also one that leads a cluster of its own was to join another.
		var other *bus.RefusedError
		if errors.As(m.err, &other) && other.Reason == bus.ReasonCluster {
			n.report(fmt.Errorf("%s: %w", m.from, m.err))
		}
		if m.Refused != "" && m.Final {
			n.die(errors.New(m.Refused))
			return
		}
		if m.Refused != "" {
			n.report(fmt.Errorf("%s: %s", m.from, m.Refused))
			return
		}
	}
	if n.bus != nil && n.raft.Leader() == "" {
		n.reportTrouble(met)
		return
	}
	ctx, cancel := context.WithTimeout(n.ctx, n.times(serveTimeout))
	defer cancel()
	err := n.raft.Register(ctx, 1, uint64(n.leaseConfig().Lease))
	var refused *raftfsm.RefusedError
	switch {
	case err == nil:
		n.cfg.Log.Debug("registered", "node", n.cfg.Name, "id", n.raft.ID(), "epoch", n.raft.Epoch())
		n.hold()
	case errors.As(err, &refused):
		n.die(err)
	case n.ctx.Err() == nil:
		n.report(err)
	}
}

// hold begins to take part in leases.
func (n *Node) hold() {
	if n.bus == nil {
		return
	}
	l := newLeases(n)
	n.leases.Store(l)
	n.loops.Go(l.run)
	n.loops.Go(l.prepare)
	n.loops.Go(func() { n.moveLoop(l) })
	n.serveLane("the lane of streams", n.streamLane, n.receiveCopy, callLimits())
	n.serveLane("the lane of leases", n.leaseLane, l.answer, bus.DefaultCallLimits())
}

// reportTrouble tells the log why there is no leader yet: what went wrong with
// those who were to be met.
func (n *Node) reportTrouble(met []meeting) {
	for _, m := range met {
		if m.err != nil {
			n.report(fmt.Errorf("%s: %w", m.from, m.err))
			return
		}
	}
}

// report tells the log why the node is not ready yet, each reason once in a
// while.
func (n *Node) report(err error) {
	if n.trouble.news(err.Error(), n.cfg.Now()) {
		n.cfg.Log.Warn("the node is not part of its cluster yet", "err", err)
	}
}

func (n *Node) times(d time.Duration) time.Duration { return d * time.Duration(n.cfg.Multiplier) }

// die tells that the process must end.
func (n *Node) die(err error) {
	n.fatal.Do(func() { n.cfg.Fatal(err) })
}

// waitsFor says what a node that starts waits for.
func (n *Node) waitsFor() error {
	if err := n.raft.Ready(); err != nil || n.bus == nil || !n.cfg.Shared {
		return err
	}
	switch {
	case !n.MayAnswer():
		return errors.New("this node has no lease yet")
	case len(freeSlots(n.raft.View())) > 0:
		return errors.New("not all slots have an owner yet")
	}
	return nil
}

// Registered is closed once the node is ready: part of its cluster, with all
// applied that was committed before.
func (n *Node) Registered() <-chan struct{} { return n.registered }

// Ready is nil once the node is part of its cluster, else why it is not. It
// latches: a lost majority does not make it unready.
func (n *Node) Ready() error {
	if n.ready.Load() {
		return nil
	}
	if err := n.waitsFor(); err != nil {
		return err
	}
	return errors.New("it has just joined")
}

// ID is the node's, 40 hex digits, for good.
func (n *Node) ID() string { return n.raft.ID() }

// BusAddr is where other nodes are served; empty: nowhere, the node is alone.
func (n *Node) BusAddr() string {
	if n.cfg.Bus == nil {
		return ""
	}
	return n.cfg.Bus.Addr
}

// Leave hands the leadership over, if this node has it: as the last act of a
// process that stops.
func (n *Node) Leave(ctx context.Context) error { return n.raft.TransferLeadership(ctx) }

// Close stops the node and lets go of its directory. Writes that are under way
// have an unknown outcome.
func (n *Node) Close() error {
	n.stop()
	err := n.raft.Close()
	for range maxWrites { // those under way end, and no other begins
		n.writes <- struct{}{}
	}
	if n.bus != nil {
		n.bus.Close()
	}
	n.loops.Wait()
	n.closePeers()
	return err
}
