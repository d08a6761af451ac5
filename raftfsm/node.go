package raftfsm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// Node is one member of the cluster, or a node that is about to become one.
type Node struct {
	cfg    Config
	id     string
	nonce  uint64
	fsm    *FSM
	raft   *raft.Raft
	store  *store
	trans  raft.Transport
	closer []io.Closer // in the order in which they are closed

	registered atomic.Uint64          // the epoch of this process; 0: not registered yet
	ready      atomic.Bool            // it latches
	leading    atomic.Bool            // it is the leader, and all before was applied
	cluster    atomic.Pointer[string] // the cluster's id as it is kept in a file
	members    sync.Mutex             // one change of who votes at a time

	addresses sync.Mutex
	book      map[string]string // addresses of the bus by id that were heard of later than the log's

	fatal sync.Once
	ctx   context.Context // ends with Close
	stop  context.CancelFunc
	loops sync.WaitGroup
}

// Open starts a node over its directory. One that is alone founds its own
// cluster if the directory holds none; others wait for Found or for a leader
// that admitted them.
func Open(cfg Config) (*Node, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	n := &Node{cfg: cfg, book: map[string]string{}}
	n.ctx, n.stop = context.WithCancel(context.Background())
	n.fsm = NewFSM(n.die)
	if err := n.open(); err != nil {
		n.stop()
		return nil, errors.Join(err, n.closeAll())
	}
	n.loops.Go(n.watchStore)
	n.loops.Go(n.lead)
	return n, nil
}

func (n *Node) open() (err error) {
	defer func() {
		if r := recover(); r != nil { // bbolt panics on some damaged files
			err = damaged(logPath(n.cfg.Dir), fmt.Errorf("%v", r))
		}
	}()
	lock, err := lockDir(n.cfg.Dir)
	if err != nil {
		return err
	}
	n.closer = append(n.closer, lock)
	if n.id, err = nodeIDOf(n.cfg.Dir, n.cfg.Rand); err != nil {
		return err
	}
	cluster, err := readClusterID(n.cfg.Dir)
	if err != nil {
		return err
	}
	n.cluster.Store(&cluster)
	var nonce [8]byte
	if _, err := io.ReadFull(n.cfg.Rand, nonce[:]); err != nil {
		return err
	}
	n.nonce = binary.BigEndian.Uint64(nonce[:])
	if err := checkLog(n.cfg.Dir, cluster); err != nil {
		return err
	}
	bolt, err := openStore(n.cfg.Dir)
	if err != nil {
		return err
	}
	n.closer = append([]io.Closer{bolt}, n.closer...)
	n.store = newStore(bolt, n.cfg.Now, n.die)
	n.store.delay = n.cfg.StoreDelay
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(snapshotsPath(n.cfg.Dir), keptSnapshots, raftLogger(n.cfg.Log))
	if err != nil {
		return err
	}
	if err := n.openTransport(); err != nil {
		return err
	}
	conf := n.raftConfig()
	if n.cfg.Stream == nil {
		has, err := raft.HasExistingState(n.store, n.store, snapshots)
		if err != nil {
			return damaged(logPath(n.cfg.Dir), err)
		}
		if !has {
			own := raft.Configuration{Servers: []raft.Server{{Suffrage: raft.Voter, ID: conf.LocalID, Address: n.trans.LocalAddr()}}}
			if err := raft.BootstrapCluster(conf, n.store, n.store, snapshots, n.trans, own); err != nil {
				return err
			}
		}
	}
	if n.raft, err = raft.NewRaft(conf, n.fsm, n.store, n.store, snapshots, n.trans); err != nil {
		return damaged(logPath(n.cfg.Dir), err)
	}
	return nil
}

func (n *Node) openTransport() error {
	if n.cfg.Stream == nil {
		_, n.trans = raft.NewInmemTransport(raft.ServerAddress(n.id))
		return nil
	}
	stream, err := n.cfg.Stream(n.id)
	if err != nil {
		return err
	}
	trans := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		ServerAddressProvider: n,
		Logger:                raftLogger(n.cfg.Log),
		Stream:                raftStream{stream},
		MaxPool:               maxPool,
		MaxRPCsInFlight:       1, // more can leave a follower behind that looks healthy (hashicorp/raft #612)
		Timeout:               n.times(rpcTimeout),
	})
	n.trans = trans
	n.closer = append([]io.Closer{trans}, n.closer...)
	return nil
}

type raftStream struct{ Stream }

// Dial implements raft.StreamLayer.
func (s raftStream) Dial(target raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return s.DialTimeout(string(target), timeout)
}

// ServerAddr tells where a node's bus is: where it was heard of last, else as
// it registered. It implements raft.ServerAddressProvider.
func (n *Node) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	if addr := n.heardOf(string(id)); addr != "" {
		return raft.ServerAddress(string(id) + "@" + addr), nil
	}
	return "", fmt.Errorf("no address is known of node %s", id) // Raft takes the one of its configuration
}

// heardOf tells where the bus of a node was heard to be last, else where it
// registered; empty: neither is known.
func (n *Node) heardOf(id string) string {
	if id == n.id {
		return n.cfg.BusAddr
	}
	n.addresses.Lock()
	addr := n.book[id]
	n.addresses.Unlock()
	if m, is := n.fsm.View().Member(id); addr == "" && is {
		addr = m.BusAddr
	}
	return addr
}

// BusAddr tells where the bus of a node is; empty: unknown.
func (n *Node) BusAddr(id string) string {
	if addr := n.heardOf(id); addr != "" {
		return addr
	}
	for _, s := range n.Servers() {
		if s.ID == id {
			return s.BusAddr
		}
	}
	return ""
}

// Servers are those that have the log or are to get it, as this node knows: it
// does so from its directory, before it hears from a leader.
func (n *Node) Servers() (all []Server) {
	for _, s := range n.raft.GetConfiguration().Configuration().Servers { // it does not wait
		_, addr, _ := strings.Cut(string(s.Address), "@")
		all = append(all, Server{ID: string(s.ID), BusAddr: addr})
	}
	return all
}

// Heard notes where the bus of a node is, which may have moved since it
// registered.
func (n *Node) Heard(id, busAddr string) {
	n.addresses.Lock()
	defer n.addresses.Unlock()
	if m, is := n.fsm.View().Member(id); is && m.BusAddr == busAddr {
		delete(n.book, id)
		return
	}
	n.book[id] = busAddr
}

// ID is the node's, 40 hex digits.
func (n *Node) ID() string { return n.id }

// View is what the log has led to, as this node knows it.
func (n *Node) View() *View { return n.fsm.View() }

// Epoch is the registration of this process; 0: not registered yet.
func (n *Node) Epoch() uint64 { return n.registered.Load() }

// Leader is the id of the leader; empty: none is known.
func (n *Node) Leader() string {
	_, id := n.raft.LeaderWithID()
	return string(id)
}

// InCluster says whether the directory holds a cluster: whether this node was
// ever part of one.
func (n *Node) InCluster() bool {
	if n.raft.LastIndex() > 0 {
		return true
	}
	return n.fsm.View().Index > 0
}

// Server is a node that founds a cluster.
type Server struct{ ID, BusAddr string }

// Leading says whether this node leads, and has applied all that was committed
// before it did.
func (n *Node) Leading() bool { return n.leading.Load() && n.raft.State() == raft.Leader }

// Reached is the FSM's.
func (n *Node) Reached(index uint64) (reached <-chan struct{}, forget func()) {
	return n.fsm.Reached(index)
}

// Found founds a cluster of these servers. All of them do, with the same list.
func (n *Node) Found(servers []Server) error {
	var c raft.Configuration
	for i, s := range servers {
		suffrage := raft.Voter
		if i >= n.cfg.Voters {
			suffrage = raft.Nonvoter
		}
		c.Servers = append(c.Servers, raft.Server{Suffrage: suffrage, ID: raft.ServerID(s.ID), Address: raft.ServerAddress(s.ID + "@" + s.BusAddr)})
	}
	if err := n.raft.BootstrapCluster(c).Error(); err != nil && !errors.Is(err, raft.ErrCantBootstrap) {
		return fmt.Errorf("the cluster cannot be founded: %w", err)
	}
	return nil
}

// Ready is nil once the node has registered, which it can only after it has
// applied all that was committed before. It latches.
func (n *Node) Ready() error {
	if n.ready.Load() {
		return nil
	}
	switch {
	case !n.InCluster():
		return errors.New("no cluster has been found or founded yet")
	case n.Leader() == "":
		return errors.New("no leader is known")
	case n.Epoch() == 0:
		return errors.New("this node has not registered yet")
	}
	n.ready.Store(true)
	return nil
}

// die tells that the process must end.
func (n *Node) die(err error) {
	n.fatal.Do(func() { n.cfg.Fatal(err) })
}

// watchStore looks whether the store hangs. Nothing here waits for it.
func (n *Node) watchStore() {
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-tick.C:
			if err := n.store.hangs(n.times(storeTimeout)); err != nil {
				n.die(err)
				return
			}
		}
	}
}

// TransferLeadership makes another node the leader, if this one is it: on the
// way out of the process, when nothing is asked of it any more.
func (n *Node) TransferLeadership(ctx context.Context) error {
	if n.raft.State() != raft.Leader || len(n.View().Voters) < 2 {
		return nil
	}
	return await(ctx, n.raft.LeadershipTransfer())
}

// Snapshot writes a snapshot now.
func (n *Node) Snapshot(ctx context.Context) error {
	err := await(ctx, n.raft.Snapshot())
	if errors.Is(err, raft.ErrNothingNewToSnapshot) {
		return nil
	}
	return err
}

// await waits for what Raft was asked to do.
func await(ctx context.Context, f raft.Future) error {
	done := make(chan error, 1)
	go func() { done <- f.Error() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close stops the node and lets go of its directory.
func (n *Node) Close() error {
	n.stop()
	err := n.raft.Shutdown().Error()
	n.loops.Wait()
	return errors.Join(err, n.closeAll())
}

func (n *Node) closeAll() error {
	var errs []error
	for _, c := range n.closer {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
