package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/rlserver/rlserver/cluster"
	"github.com/rlserver/rlserver/cluster/bus"
	"github.com/rlserver/rlserver/commands"
	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/state"
)

// openCluster opens the node over its directory: alone, or with a bus for
// others. What comes out of the channel is why the process must end.
func openCluster(ctx context.Context, cfg *config, slots *slotStates, redisAddr string, log *slog.Logger) (*cluster.Node, <-chan error, error) {
	fatal := make(chan error, 1)
	c := &cfg.cluster
	cc := cluster.Config{
		Dir: c.dir, Name: cfg.nodeName, Addr: redisAddr, Voters: c.voters, Multiplier: c.raftMultiplier,
		Shared: c.secret != "", Prepare: slots.prepare, Drop: slots.drop, Copy: slots.copy, Receive: slots.receive,
		Bounds: cfg.bounds(), Now: time.Now, Boottime: newBoottime(), Rand: rand.Reader, Log: log,
		Fatal: func(err error) { fatal <- err },
	}
	if c.announceAddr != "" {
		cc.Addr = c.announceAddr
	}
	if c.secret != "" {
		var err error
		if cc.Bus, err = c.openBus(ctx, cfg.addr, log); err != nil {
			return nil, nil, err
		}
	}
	n, err := cluster.Open(cc)
	if err != nil && cc.Bus != nil {
		err = errors.Join(err, cc.Bus.Listener.Close())
	}
	return n, fatal, err
}

// bounds are those of the rules that are asked for here.
func (c *config) bounds() limit.Bounds { return limit.Bounds{MaxLog: c.maxLog} }

// openBus listens on the bus' address.
func (c *clusterConfig) openBus(ctx context.Context, addr string, log *slog.Logger) (*cluster.BusConfig, error) {
	addr, err := c.bus(addr)
	if err != nil {
		return nil, err
	}
	credentials, err := bus.FromSecrets([]byte(c.secret), nil)
	if err != nil {
		return nil, err
	}
	listener, err := listen(ctx, "bus-addr", addr)
	if err != nil {
		return nil, err
	}
	b := &cluster.BusConfig{
		Listener:    listener,
		Addr:        listener.Addr().String(),
		Credentials: func() *bus.Credentials { return credentials },
		Dial: func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		},
		Events: busEvents(log),
		Join:   addresses(c.join),
		Peers:  addresses(c.peers),
		Found:  c.bootstrapExpect == 1 && c.peers == "",
	}
	if c.announceBusAddr != "" {
		b.Addr = c.announceBusAddr
	}
	return b, nil
}

func busEvents(log *slog.Logger) bus.Events {
	return bus.Events{
		Opened: func(peer bus.Hello, addr string) {
			log.Debug("bus connection", "node", peer.Name, "lane", peer.Lane.String(), "addr", addr)
		},
		Closed: func(peer bus.Hello, addr string) {
			log.Debug("bus connection ended", "node", peer.Name, "lane", peer.Lane.String(), "addr", addr)
		},
		Refused: func(addr string, why bus.Reason, err error) {
			log.Warn("bus connection refused", "addr", addr, "why", why.String(), "err", err)
		},
		Accept: func(err error) { log.Error("the bus cannot accept a connection", "err", err) },
	}
}

// members shows the cluster to the commands in their words.
type members struct {
	*cluster.Node

	mode string
	name string
}

// errNoMoves is why nothing can be done to slots.
var errNoMoves = errors.New("single slots cannot be moved: the cluster keeps them in balance; RL.NODE.DRAIN empties a node")

// Nodes implements commands.Cluster.
func (m members) Nodes() []commands.NodeInfo {
	all := m.Members()
	nodes := make([]commands.NodeInfo, len(all))
	for i, one := range all {
		nodes[i] = commands.NodeInfo{
			Name: one.Name, ID: one.ID, Addr: one.Addr, BusAddr: one.BusAddr,
			Role: roleOf(one), State: stateOf(one), Slots: m.slots(one.ID), Epoch: one.Epoch,
		}
	}
	return nodes
}

func roleOf(m cluster.Member) string {
	switch {
	case m.Leads:
		return "leader"
	case m.Votes:
		return "voter"
	}
	return "nonvoter"
}

func stateOf(m cluster.Member) string {
	switch {
	case !m.Alive:
		return "unreachable"
	case m.Drains || m.Leaves:
		return "draining"
	}
	return "alive"
}

// Change implements commands.Cluster.
func (m members) Change(change commands.NodeChange, name string, done func(error)) {
	switch change {
	case commands.NodeAdd:
		m.Add(name, done)
	case commands.NodeRemove:
		m.Remove(name, done)
	case commands.NodePromote:
		m.Promote(name, done)
	case commands.NodeDrain, commands.NodeUndrain:
		m.SetDrain(name, change == commands.NodeDrain, done)
	case commands.NodeForceWithdraw:
		m.ForceWithdraw(name, done)
	default:
		done(fmt.Errorf("change %d is unknown", change))
	}
}

// alone says whether the node is: then it owns all slots, and the log does not
// say so.
func (m members) alone() bool { return m.BusAddr() == "" }

// slots counts those of a member.
func (m members) slots(id string) int {
	if m.alone() {
		return state.Slots
	}
	return m.Owned(id)
}

// Slots implements commands.Cluster.
func (m members) Slots() (ranges []commands.SlotRange) {
	if m.alone() {
		return []commands.SlotRange{{First: 0, Last: state.Slots - 1, Owner: m.name, Version: soleVersion}}
	}
	for _, r := range m.Node.Slots() {
		ranges = append(ranges, commands.SlotRange{First: r.First, Last: r.Last, Owner: r.Owner.Name, Version: r.Owner.Version})
	}
	return ranges
}

// Move implements commands.Cluster.
func (members) Move(_, _ uint16, _ string, done func(error)) { done(errNoMoves) }

// Status implements commands.Cluster.
func (m members) Status() []commands.Field {
	fields := []commands.Field{{Name: "mode", Value: m.mode}}
	for _, f := range m.Node.Status() {
		fields = append(fields, commands.Field(f))
	}
	return append(fields, commands.Field{Name: "slots_owned", Value: strconv.Itoa(m.slots(m.ID()))})
}
