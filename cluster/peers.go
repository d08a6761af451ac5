package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rlserver/rlserver/cluster/bus"
	"github.com/rlserver/rlserver/policy"
	"github.com/rlserver/rlserver/raftfsm"
)

// peer is another member, with a connection that is kept.
type peer struct {
	client *bus.Client // on the control lane
	lease  *bus.Client // on that of leases
	decide *bus.Client // on that of decisions
	stream *bus.Client // on that of counts

	breaker breaker
	heard   atomic.Int64  // when it answered last, Unix nanoseconds; 0: never
	nonce   atomic.Uint64 // of the process that did
}

// alive says whether the peer answered of late, and is connected still.
func (n *Node) alive(p *peer) bool {
	_, connected := p.client.Peer()
	return connected && n.cfg.Now().UnixNano()-p.heard.Load() < n.times(aliveFor).Nanoseconds()
}

// peer returns the one with this id; it is new if there was none.
func (n *Node) peer(id string) (*peer, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.peers[id]; p != nil {
		return p, nil
	}
	target := func() bus.Target { return bus.Target{Node: id, Addr: n.raft.BusAddr(id)} }
	p := &peer{}
	var err error
	if p.client, err = n.newClient(target); err != nil {
		return nil, err
	}
	if p.lease, err = n.newQuickClient(bus.LaneLease, target); err != nil {
		p.client.Close()
		return nil, err
	}
	if p.decide, err = n.newQuickClient(bus.LaneDecide, target); err != nil {
		p.client.Close()
		p.lease.Close()
		return nil, err
	}
	if p.stream, err = n.newClientOn(bus.LaneStream, target); err != nil {
		p.client.Close()
		p.lease.Close()
		p.decide.Close()
		return nil, err
	}
	n.peers[id] = p
	return p, nil
}

func (p *peer) close() {
	p.client.Close()
	p.lease.Close()
	p.decide.Close()
	p.stream.Close()
}

// newQuickClient is for a lane on which nothing may wait long: a connection on
// which nothing is answered is cut at once.
func (n *Node) newQuickClient(lane bus.Lane, target func() bus.Target) (*bus.Client, error) {
	cfg := bus.DefaultClientConfig()
	cfg.Bus, cfg.Lane, cfg.Target = n.bus, lane, target
	cfg.DialTimeout, cfg.SilenceLimit, cfg.LongestPause = n.times(time.Second), n.times(time.Second), n.times(settledEvery/4)
	return bus.NewClient(cfg)
}

func (n *Node) newClient(target func() bus.Target) (*bus.Client, error) {
	return n.newClientOn(bus.LaneControl, target)
}

func (n *Node) newClientOn(lane bus.Lane, target func() bus.Target) (*bus.Client, error) {
	cfg := bus.DefaultClientConfig()
	cfg.Bus, cfg.Lane, cfg.Limits, cfg.Target = n.bus, lane, callLimits(), target
	// A write without a majority is answered late, and is no sign of a dead peer.
	cfg.SilenceLimit = 2 * n.times(serveTimeout)
	return bus.NewClient(cfg)
}

// keepPeers keeps a connection to each other member and to the leader, which
// a new node knows before it knows the members.
func (n *Node) keepPeers() {
	wanted := map[string]bool{n.raft.Leader(): true}
	for _, m := range n.raft.View().Members() {
		wanted[m.ID] = true
	}
	for _, s := range n.raft.Servers() { // all that is known before the log is applied
		wanted[s.ID] = true
	}
	delete(wanted, n.raft.ID())
	delete(wanted, "")
	var dropped []*peer
	n.mu.Lock()
	for id, p := range n.peers {
		if !wanted[id] {
			dropped = append(dropped, p)
			delete(n.peers, id)
		}
	}
	n.mu.Unlock()
	for _, p := range dropped {
		p.close()
	}
	for id := range wanted {
		if _, err := n.peer(id); err != nil {
			n.cfg.Log.Error("a member cannot be connected to", "id", id, "err", err)
		}
	}
}

func (n *Node) closePeers() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.peers {
		p.close()
	}
	clear(n.peers)
}

// forward carries a write to the leader. It is raftfsm.Config's Forward. It does
// not wait for a connection: whoever leads may be gone, and another may lead by
// the time that the caller tries again.
func (n *Node) forward(ctx context.Context, leader raftfsm.Member, request []byte) ([]byte, error) {
	p, err := n.peer(leader.ID)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", policy.ErrNotWritten, err)
	}
	type outcome struct {
		answer []byte
		err    error
	}
	made := make(chan outcome, 1)
	err = p.client.Start(callWrite, request, n.times(serveTimeout), func(answer []byte, err error) {
		made <- outcome{bytes.Clone(answer), err}
	})
	var o outcome
	if err != nil {
		o.err = err
	} else {
		select {
		case o = <-made:
		case <-ctx.Done():
			o.err = ctx.Err()
		}
	}
	switch {
	case o.err == nil:
		return o.answer, nil
	case errors.Is(o.err, bus.ErrNotDone):
		return nil, fmt.Errorf("the leader %s cannot be reached: %w: %w", leader.Name, policy.ErrNotWritten, o.err)
	}
	return nil, fmt.Errorf("the leader %s did not answer: %w: %w", leader.Name, policy.ErrOutcomeUnknown, o.err)
}
