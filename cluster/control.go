package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rlserver/rlserver/cluster/bus"
	"github.com/rlserver/rlserver/raftfsm"
)

// Calls on the control lane. They are few and not hot, so that all but a write
// is JSON, which grows easily.
const (
	callWrite byte = 1 // what raftfsm forwards, for raftfsm's Serve
	callMeet  byte = 2 // a question, answered by a greeting
)

// callLease is the one kind of call on the lane of leases: a question of
// package lease, answered by its answer.
const callLease byte = 1

// question is what a node says of itself to one that it meets.
type question struct {
	Addr  string `json:"addr"`  // of its bus
	Nonce uint64 `json:"nonce"` // of its process
	Join  bool   `json:"join"`  // it wants to follow the log
	Has   bool   `json:"has"`   // it has a log already, by which it is a member
}

// greeting is the answer.
type greeting struct {
	Addr      string            `json:"addr"` // of the answering node's bus
	Nonce     uint64            `json:"nonce"`
	InCluster bool              `json:"in_cluster"` // it belongs to a cluster, or has founded one
	Book      map[string]string `json:"book"`       // addresses of members' buses by id
	Removed   string            `json:"removed"`    // not empty: the asking node was removed; its name
	Refused   string            `json:"refused"`    // not empty: why it cannot join
	Final     bool              `json:"final"`      // Refused will not go better later
}

// openBus makes the bus of a node whose id is known now. It is raftfsm.Config's
// Stream.
func (n *Node) openBus(id string) (raftfsm.Stream, error) {
	cfg := bus.DefaultConfig()
	cfg.Identity = func() bus.Identity {
		me := bus.Identity{Node: id, Name: n.cfg.Name, Level: raftfsm.Level}
		select {
		case <-n.opened:
			me.Cluster = n.raft.Cluster()
		default: // others are dialed by their ids before
		}
		return me
	}
	b := n.cfg.Bus
	cfg.Credentials, cfg.Dial, cfg.Events, cfg.Announce, cfg.Now = b.Credentials, b.Dial, b.Events, b.Addr, n.cfg.Now
	var err error
	if n.bus, err = bus.New(cfg); err != nil {
		return nil, err
	}
	if n.control, err = n.bus.Listen(bus.LaneControl); err != nil {
		return nil, err
	}
	if n.leaseLane, err = n.bus.Listen(bus.LaneLease); err != nil {
		return nil, err
	}
	if n.decideLane, err = n.bus.Listen(bus.LaneDecide); err != nil {
		return nil, err
	}
	if n.streamLane, err = n.bus.Listen(bus.LaneStream); err != nil {
		return nil, err
	}
	return n.bus.Listen(bus.LaneRaft)
}

func (n *Node) serveBus() {
	n.loops.Go(func() {
		if err := n.bus.Serve(n.cfg.Bus.Listener); !errors.Is(err, bus.ErrClosed) {
			n.die(fmt.Errorf("the bus ended: %w", err))
		}
	})
	n.serveLane("the control lane", n.control, n.answer, callLimits())
}

// serveLane answers the calls of a lane until the bus is closed.
func (n *Node) serveLane(what string, l *bus.Listener, handler bus.Handler, limits bus.CallLimits) {
	n.loops.Go(func() {
		err := bus.ServeCalls(l, bus.ServeConfig{
			Handler: handler,
			Limits:  limits,
			Panic: func(from bus.Hello, kind byte, value any, stack []byte) {
				n.cfg.Log.Error("a call of another node failed", "from", from.Name, "kind", kind, "panic", value, "stack", string(stack))
			},
		})
		if !errors.Is(err, bus.ErrClosed) {
			n.die(fmt.Errorf("%s ended: %w", what, err))
		}
	})
}

// answer answers a call on a goroutine of its own: the disk may take a while.
func (n *Node) answer(from *bus.Conn, kind byte, payload []byte, reply bus.Reply) {
	select {
	case n.served <- struct{}{}:
	default:
		reply.Refuse(fmt.Sprintf("%d calls are under way, no more are taken", maxServed))
		return
	}
	peer, payload := from.Peer(), bytes.Clone(payload)
	go func() {
		defer func() { <-n.served }()
		ctx, cancel := context.WithTimeout(n.ctx, n.times(serveTimeout))
		defer cancel()
		switch kind {
		case callWrite:
			reply.Send(n.raft.Serve(ctx, payload))
		case callMeet:
			text, err := n.greet(ctx, peer, payload)
			if err != nil {
				reply.Refuse(err.Error())
				return
			}
			reply.Send(text)
		default:
			reply.Refuse(fmt.Sprintf("call %d is unknown here: upgrade this node", kind))
		}
	}()
}

func (n *Node) greet(ctx context.Context, from bus.Hello, payload []byte) ([]byte, error) {
	var q question
	if err := json.Unmarshal(payload, &q); err != nil {
		return nil, fmt.Errorf("the question cannot be read: %w", err)
	}
	g := greeting{Addr: n.cfg.Bus.Addr, Nonce: n.raft.Nonce(), InCluster: n.raft.InCluster(), Book: n.book()}
	if name, removed := n.raft.View().Removed(from.Node); removed {
		g.Removed = name
		return json.Marshal(g)
	}
	if g.Refused, g.Final = n.objection(from, q); g.Refused == "" && from.Node != n.raft.ID() {
		n.raft.Heard(from.Node, q.Addr)
		if q.Join && g.InCluster {
			g.Refused, g.Final = n.admit(ctx, from.Node, q.Addr)
		}
	}
	return json.Marshal(g)
}

// objection says why a node cannot be who it says.
func (n *Node) objection(from bus.Hello, q question) (refused string, final bool) {
	if m, is := n.raft.View().Named(from.Name); is && m.ID != from.Node {
		return fmt.Sprintf("the name %s belongs to node %s: use another --node-name, or RL.NODE.REMOVE %s if that node is gone for good", m.Name, m.ID, m.Name), true
	}
	// A founder may not know its cluster's id yet. The log of another cluster
	// would replace its own.
	if q.Has && from.Cluster == "" && !slices.ContainsFunc(n.raft.Servers(), func(s raftfsm.Server) bool { return s.ID == from.Node }) {
		return fmt.Sprintf("node %s (%s) is a member of another cluster: start it with an empty directory", from.Name, from.Node), false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, p := range n.peers {
		if id != from.Node && n.alive(p) && n.raft.BusAddr(id) == q.Addr {
			return fmt.Sprintf("the address %s is that of node %s: others reach this node by another, see --announce-bus-addr", q.Addr, n.nameOf(id)), false
		}
	}
	p := n.peers[from.Node]
	if p != nil && n.alive(p) && p.nonce.Load() != q.Nonce {
		return fmt.Sprintf("node %s (%s) runs already, at %s: this directory is a copy of its", from.Name, from.Node, n.raft.BusAddr(from.Node)), false
	}
	return "", false
}

func (n *Node) admit(ctx context.Context, id, addr string) (refused string, final bool) {
	err := n.raft.Admit(ctx, id, addr)
	if err == nil {
		return "", false
	}
	var never *raftfsm.RefusedError
	return err.Error(), errors.As(err, &never)
}

// book is where the members' buses are.
func (n *Node) book() map[string]string {
	book := map[string]string{n.raft.ID(): n.cfg.Bus.Addr}
	for _, m := range n.raft.View().Members() {
		if m.ID != n.raft.ID() {
			book[m.ID] = n.raft.BusAddr(m.ID)
		}
	}
	return book
}
