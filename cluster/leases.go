package cluster

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rlserver/rlserver/cluster/bus"
	"github.com/rlserver/rlserver/cluster/lease"
	"github.com/rlserver/rlserver/policy"
	"github.com/rlserver/rlserver/raftfsm"
)

// leases runs this node's part in all leases: on one goroutine, which waits
// for neither a disk nor the log, and on a lane of its own.
type leases struct {
	n     *Node
	cfg   lease.Config
	node  *lease.Node
	heard chan heard // messages that came
	ended chan struct{}

	leads       bool
	registering atomic.Bool
	takingOver  atomic.Int32 // proposals under way

	now    atomic.Pointer[serving] // what this node may serve; never nil
	change atomic.Int64            // until then, of the clock, a change of voters is wanted
	block  atomic.Pointer[blocked] // what stands in its way; nil: not known
	moving [slots]atomic.Uint32    // open, closing or frozen
	ready  [slots]atomic.Uint64    // versions under which slots may be served
	stale  chan struct{}           // says that some may have to be prepared
	lapses atomic.Uint64           // times that a lease was over while it was wanted
}

// heard is a message of another node, or its answer.
type heard struct {
	from    lease.NodeID
	message lease.Message
	reply   *bus.Reply // nil: it is an answer
}

// serving is what a node may serve, as of one step of its leases.
type serving struct {
	view  *leaseView
	lease lease.Lease
	self  uint16 // this node's number in the view's slots; 0: it owns none
	held  bool   // the lease was valid when this was published
}

// blocked is who has not reported yet that it counts by a set of voters.
type blocked struct {
	voters uint64 // index of the set
	by     []lease.NodeID
}

// maxHeard bounds the messages that wait. One that is lost is asked for again.
const maxHeard = 1024

// maxTakeOvers bounds the proposals that are under way.
const maxTakeOvers = 16

// newLeases is for a process that has registered just now.
func newLeases(n *Node) *leases {
	l := &leases{n: n, cfg: n.leaseConfig(), heard: make(chan heard, maxHeard), ended: make(chan struct{}), stale: make(chan struct{}, 1)}
	l.stale <- struct{}{}
	l.node = lease.New(l.cfg, n.raft.Nonce(), n.cfg.Boottime())
	l.now.Store(&serving{view: newLeaseView(n.raft.View())})
	return l
}

func (n *Node) leaseConfig() lease.Config {
	c := lease.DefaultConfig(lease.NodeID(n.raft.ID()))
	m := int64(n.cfg.Multiplier)
	c.Lease, c.Tick, c.Poll, c.Guard = c.Lease*m, c.Tick*m, c.Poll*m, c.Guard*m
	return c
}

func (l *leases) run() {
	defer close(l.ended)
	clock := l.n.cfg.Boottime
	timer := time.NewTimer(0)
	defer timer.Stop()
	l.observe()
	first := l.node.Observe(clock(), l.now.Load().view)
	l.publish(first.Lease, clock())
	l.do(first, heard{})
	for {
		reached, forget := l.n.raft.Reached(l.now.Load().view.Applied() + 1)
		var out lease.Output
		var m heard
		select {
		case <-l.n.ctx.Done():
			forget()
			return
		case <-reached:
			l.observe()
			out = l.node.Observe(clock(), l.now.Load().view)
		case m = <-l.heard:
			out = l.node.Receive(clock(), m.from, m.message)
		case <-timer.C:
			out = l.node.Tick(clock())
		}
		forget()
		l.lead(clock())
		l.publish(out.Lease, clock())
		l.do(out, m)
		timer.Reset(max(time.Duration(l.node.Due()-clock()), time.Millisecond))
	}
}

// observe takes the view of the log as it is now.
func (l *leases) observe() {
	old := l.now.Load()
	next := *old
	next.view = newLeaseView(l.n.raft.View())
	next.self = next.view.view.NodeNumber(string(l.cfg.Self))
	same := next.view.view.SameSlots(old.view.view)
	if !same {
		l.keep(old, &next)
	}
	l.now.Store(&next)
	if same {
		return
	}
	select {
	case l.stale <- struct{}{}:
	default:
	}
}

// keep lets slots be served on that this node owned before and after a change:
// a move that was not made.
func (l *leases) keep(old, next *serving) {
	if old.self == 0 || next.self == 0 {
		return
	}
	for slot := range uint16(slots) {
		was, before := old.view.view.OwnerNumber(slot)
		is, after := next.view.view.OwnerNumber(slot)
		if was == old.self && is == next.self && before != after {
			l.ready[slot].CompareAndSwap(before, after)
		}
	}
}

// prepare makes slots ready that this node owns by now. It is a goroutine of
// its own: there may be much to drop.
func (l *leases) prepare() {
	for {
		select {
		case <-l.n.ctx.Done():
			return
		case <-l.stale:
		}
		s := l.now.Load()
		for slot := range uint16(slots) {
			owner, version := s.view.view.OwnerNumber(slot)
			had := l.ready[slot].Load()
			if s.self == 0 || owner != s.self {
				l.drop(slot, had)
				continue
			}
			if had == version {
				continue
			}
			if l.n.cfg.Prepare != nil {
				l.n.cfg.Prepare(slot, version, s.view.view.Counts(slot))
			}
			l.ready[slot].Store(version)
		}
	}
}

// drop lets go of a slot that is another node's by now.
func (l *leases) drop(slot uint16, had uint64) {
	if had == 0 {
		return
	}
	l.ready[slot].Store(0)
	if l.n.cfg.Drop != nil {
		l.n.cfg.Drop(slot)
	}
}

// publish makes the lease known to who serves, before anything is sent.
func (l *leases) publish(is lease.Lease, now int64) {
	old := l.now.Load()
	held := is.Valid(old.view, l.cfg.Self, now)
	if old.held && !held {
		l.lapses.Add(1)
	}
	if is != old.lease || held != old.held {
		l.now.Store(&serving{view: old.view, lease: is, self: old.self, held: held})
	}
	if l.leads {
		l.block.Store(&blocked{old.view.VotersIndex(), l.node.ChangeBlockedBy()})
	}
}

// lead notes whether this node leads, and whether a change of voters is wanted.
func (l *leases) lead(now int64) {
	leads := l.n.raft.Leading()
	switch {
	case leads && !l.leads:
		l.node.Lead(now)
	case !leads && l.leads:
		l.node.Follow()
		l.block.Store(nil)
	}
	l.leads = leads
	l.node.WantChange(leads && now < l.change.Load())
}

// do does what a step asks for. An answer to the message of that step goes back
// on its own way.
func (l *leases) do(out lease.Output, to heard) {
	if out.Register != nil && l.registering.CompareAndSwap(false, true) {
		go l.register(*out.Register)
	}
	for _, t := range out.TakeOvers {
		if l.takingOver.Add(1) > maxTakeOvers {
			l.takingOver.Add(-1)
			continue // it is proposed again
		}
		go l.takeOver(t)
	}
	for _, e := range out.Send {
		if to.reply != nil && e.To == to.from {
			to.reply.Send(lease.Encode(nil, e.Message))
			to.reply = nil
			continue
		}
		l.ask(e)
	}
	if to.reply != nil {
		to.reply.Refuse("this node bears no witness yet")
	}
}

// ask sends a question; the answer comes to heard.
func (l *leases) ask(e lease.Envelope) {
	p, err := l.n.peer(string(e.To))
	if err != nil {
		return
	}
	_ = p.lease.Start(callLease, lease.Encode(nil, e.Message), time.Duration(l.cfg.Lease), func(reply []byte, err error) {
		if err != nil {
			return // it is asked again
		}
		if m, err := lease.Decode(reply); err == nil {
			l.hear(heard{from: e.To, message: m})
		}
	})
}

// hear hands a message over; where too many wait it is lost.
func (l *leases) hear(m heard) bool {
	select {
	case l.heard <- m:
		return true
	default:
		return false
	}
}

// answer takes the questions of other nodes.
func (l *leases) answer(from *bus.Conn, kind byte, payload []byte, reply bus.Reply) {
	m, err := lease.Decode(payload)
	switch {
	case kind != callLease || err != nil:
		reply.Refuse("it is no question about a lease")
	case !l.hear(heard{lease.NodeID(from.Peer().Node), m, &reply}):
		reply.Refuse("too many questions wait")
	}
}

// register registers anew: the cluster took this node for dead.
func (l *leases) register(r lease.Register) {
	defer l.registering.Store(false)
	ctx, cancel := context.WithTimeout(l.n.ctx, l.n.times(serveTimeout))
	defer cancel()
	err := l.n.raft.Register(ctx, r.Nonce.Count, uint64(r.Lease))
	var refused *raftfsm.RefusedError
	switch {
	case errors.As(err, &refused):
		l.n.die(err)
	case err == nil:
		l.n.cfg.Log.Info("registered again", "epoch", l.n.raft.Epoch())
	}
}

// takeOver proposes that a silent node's slots go to others, as many to each.
func (l *leases) takeOver(t lease.TakeOver) {
	defer l.takingOver.Add(-1)
	command := raftfsm.TakeOver{Node: string(t.Node), Epoch: t.Epoch, Targets: l.targets(t.Node)}
	for _, w := range t.Witnesses {
		command.Witnesses = append(command.Witnesses, raftfsm.Witness{ID: string(w.Node), Epoch: w.Epoch})
	}
	name := l.n.nameOf(string(t.Node))
	_, err := l.n.raft.Propose(l.n.ctx, command)
	switch {
	case err == nil:
		l.n.cfg.Log.Warn("a silent node was declared down", "node", name, "epoch", t.Epoch)
	case errors.Is(err, policy.ErrOutcomeUnknown), errors.Is(err, policy.ErrNotWritten):
		l.n.cfg.Log.Warn("a silent node could not be declared down; it is tried again", "node", name, "err", err)
	}
}

// targets are the nodes that are up, but for one; those that were heard of of
// late, if there are any.
func (l *leases) targets(but lease.NodeID) (ids []string) {
	var up []string
	for _, m := range l.n.Members() {
		if m.ID == string(but) || m.Epoch == 0 {
			continue
		}
		up = append(up, m.ID)
		if m.Alive {
			ids = append(ids, m.ID)
		}
	}
	if len(ids) == 0 {
		ids = up
	}
	slices.Sort(ids)
	return ids
}

// votersMayChange says who stands in the way of a change of voters: nodes that
// have not reported that they count promises by the present ones. It is asked
// by a leader, again and again.
func (l *leases) votersMayChange(index uint64) (by []string, ok bool) {
	l.change.Store(l.n.cfg.Boottime() + 2*l.cfg.Lease)
	b := l.block.Load()
	if b == nil || b.voters != index {
		return nil, false
	}
	for _, id := range b.by {
		by = append(by, l.n.nameOf(string(id)))
	}
	return by, len(by) == 0
}

// margin is how long the lease lasts; 0 or less: there is none. sole says that
// the node is a majority of its own.
func (l *leases) margin() (left time.Duration, sole bool) {
	s := l.now.Load()
	now := l.n.cfg.Boottime()
	if !s.lease.Valid(s.view, l.cfg.Self, now) {
		return 0, false
	}
	return time.Duration(s.lease.Until - now), s.lease.Sole
}

// votersMayChange is raftfsm.Config's.
func (n *Node) votersMayChange(index uint64) (by []string, ok bool) {
	l := n.leases.Load()
	if l == nil {
		return nil, false
	}
	return l.votersMayChange(index)
}
