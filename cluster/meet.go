package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/rlserver/rlserver/cluster/bus"
	"github.com/rlserver/rlserver/raftfsm"
)

// meeting is what came of asking another node.
type meeting struct {
	greeting

	from string // the address or the name that was asked
	id   string // who answered
	err  error  // nobody did
}

// meetAll asks the members that are known and, until this node is settled, the
// addresses that the operator gave. All are asked at once.
func (n *Node) meetAll() []meeting {
	settled := n.raft.Epoch() != 0 && n.raft.Leader() != ""
	ctx, cancel := context.WithTimeout(n.ctx, n.times(meetTimeout))
	defer cancel()
	var (
		mu   sync.Mutex
		met  []meeting
		wait sync.WaitGroup
	)
	ask := func(from string, how func() (*bus.Client, *peer, error)) {
		wait.Go(func() {
			m := n.meet(ctx, from, how)
			mu.Lock()
			defer mu.Unlock()
			met = append(met, m)
		})
	}
	n.mu.Lock()
	for id, p := range n.peers {
		ask(n.nameOf(id), func() (*bus.Client, *peer, error) { return p.client, p, nil })
	}
	n.mu.Unlock()
	if !settled {
		for _, addr := range slices.Concat(n.cfg.Bus.Join, n.cfg.Bus.Peers) {
			if addr == n.cfg.Bus.Addr {
				continue
			}
			ask(addr, func() (*bus.Client, *peer, error) {
				c, err := n.newClient(func() bus.Target { return bus.Target{Addr: addr} })
				return c, nil, err
			})
		}
	}
	wait.Wait()
	for _, m := range met {
		n.learn(m)
	}
	slices.SortFunc(met, func(a, b meeting) int { return compare(a.from, b.from) })
	return met
}

// meet asks one node. A client that belongs to no peer is closed.
func (n *Node) meet(ctx context.Context, from string, how func() (*bus.Client, *peer, error)) meeting {
	m := meeting{from: from}
	c, p, err := how()
	if err != nil {
		m.err = err
		return m
	}
	if p == nil {
		defer c.Close()
	}
	text, err := json.Marshal(question{Addr: n.cfg.Bus.Addr, Nonce: n.raft.Nonce(), Join: n.joins(), Has: n.has()})
	if err != nil {
		m.err = err
		return m
	}
	answer, err := c.Call(ctx, callMeet, text)
	if err != nil {
		m.err = err
		return m
	}
	if err := json.Unmarshal(answer, &m.greeting); err != nil {
		m.err = fmt.Errorf("the answer cannot be read: %w", err)
		return m
	}
	hello, connected := c.Peer()
	if !connected {
		m.err = fmt.Errorf("the connection ended after the answer")
		return m
	}
	m.id = hello.Node
	if p != nil {
		p.nonce.Store(m.Nonce)
		p.heard.Store(n.cfg.Now().UnixNano())
	}
	return m
}

// learn notes the addresses that another node knows.
func (n *Node) learn(m meeting) {
	if m.err != nil || m.id == n.raft.ID() {
		return
	}
	for id, addr := range m.Book {
		if id != n.raft.ID() && n.raft.BusAddr(id) == "" {
			n.raft.Heard(id, addr)
		}
	}
	n.raft.Heard(m.id, m.Addr) // who answers there is there
}

// joins says whether this node asks to follow the log of those that it meets.
// One that has registered does already; one that founds a cluster with its
// peers asks only once one of them has a cluster.
func (n *Node) joins() bool {
	return n.raft.Epoch() == 0 && (len(n.cfg.Bus.Peers) == 0 || n.raft.InCluster() || n.invited.Load())
}

// has says whether this node is a member by its own log.
func (n *Node) has() bool {
	return slices.ContainsFunc(n.raft.Servers(), func(s raftfsm.Server) bool { return s.ID == n.raft.ID() })
}

// found founds the cluster if it is time to.
func (n *Node) found(met []meeting) error {
	b := n.cfg.Bus
	if b.Found {
		return n.raft.Found([]raftfsm.Server{{ID: n.raft.ID(), BusAddr: b.Addr}})
	}
	if len(b.Peers) == 0 {
		return nil
	}
	founders := map[string]raftfsm.Server{}
	asked := 0
	if slices.Contains(b.Peers, b.Addr) {
		founders[n.raft.ID()] = raftfsm.Server{ID: n.raft.ID(), BusAddr: b.Addr}
		asked++
	}
	for _, m := range met {
		if m.InCluster {
			n.invited.Store(true)
			return nil
		}
		if m.err != nil || !slices.Contains(b.Peers, m.from) {
			continue
		}
		asked++
		if _, twice := founders[m.id]; twice {
			return fmt.Errorf("two of --peers are the same node, or have copies of one directory: %s is node %s, which another is too", m.from, m.id)
		}
		founders[m.id] = raftfsm.Server{ID: m.id, BusAddr: m.Addr}
	}
	if asked < len(b.Peers) {
		return nil
	}
	if _, included := founders[n.raft.ID()]; !included {
		return fmt.Errorf("--peers does not name this node: it must name all, as %s for this one", b.Addr)
	}
	servers := make([]raftfsm.Server, 0, len(founders))
	for _, s := range founders {
		servers = append(servers, s)
	}
	slices.SortFunc(servers, func(a, b raftfsm.Server) int { return compare(a.ID, b.ID) })
	return n.raft.Found(servers)
}

// nameOf is a member's name, for people; its id if it has none yet.
func (n *Node) nameOf(id string) string {
	if m, is := n.raft.View().Member(id); is {
		return m.Name
	}
	return id
}
