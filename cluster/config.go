package cluster

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/rlserver/rlserver/cluster/bus"
	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/raftfsm"
)

// Config is what a Node needs.
type Config struct {
	Dir    string // where it keeps its identity, the log and its snapshots
	Name   string // the operator's
	Addr   string // host:port under which Redis clients reach it
	Voters int    // how many nodes vote
	Bus    *BusConfig

	// Shared: the slots are shared among the members. Else nobody owns any, and
	// each node counts for itself.
	Shared bool
	// Prepare is called before this node serves a slot under a version that it
	// did not serve it under, from one goroutine: the buckets that are there may
	// be of another time. counts is raftfsm.Slot's. Nil: there is nothing to
	// prepare.
	Prepare func(slot uint16, version, counts uint64)
	// Drop is called, from the goroutine of Prepare, when this node no longer
	// owns a slot that it served. Nil: what was counted may stay.
	Drop func(slot uint16)
	// Copy is what was counted in slots, for the Receive of another node, which
	// keeps it as that of these versions. Nil: slots do not move.
	Copy    func(all []raftfsm.SlotVersion) ([]byte, error)
	Receive func(counts []byte, all []raftfsm.SlotVersion) error

	Bounds     limit.Bounds // of policies that are set through this node
	Multiplier int          // of Raft's times and of those here, 1 or more
	Now        func() time.Time
	Boottime   func() int64 // CLOCK_BOOTTIME in nanoseconds: it counts while the machine sleeps
	Rand       io.Reader
	Log        *slog.Logger
	// Fatal is called at most once, from any goroutine, when the process must
	// end: the log cannot be written, the node was removed from its cluster, or
	// another process has its identity.
	Fatal func(error)
}

// BusConfig is what a Node needs to meet others. Without one it is alone.
type BusConfig struct {
	Listener    net.Listener // it is closed with the Node
	Addr        string       // host:port under which other nodes reach it
	Credentials func() *bus.Credentials
	Dial        func(ctx context.Context, addr string) (net.Conn, error)
	Events      bus.Events

	Join  []string // buses of members of the cluster to join
	Peers []string // buses of all nodes that found a cluster together, this one included
	Found bool     // found a cluster of one, for others to join
}

func (c *Config) validate() error {
	var errs []error
	if c.Bounds.MaxLog < 1 {
		errs = append(errs, errors.New("cluster: no bounds of policies"))
	}
	if c.Boottime == nil {
		errs = append(errs, errors.New("cluster: no clock for leases"))
	}
	if c.Fatal == nil {
		errs = append(errs, errors.New("cluster: no function for fatal errors"))
	}
	if b := c.Bus; b != nil {
		switch {
		case b.Listener == nil, b.Addr == "", b.Credentials == nil, b.Dial == nil:
			errs = append(errs, errors.New("cluster: a bus needs a listener, an address, credentials and a dialer"))
		case len(b.Peers) > 0 && (b.Found || len(b.Join) > 0):
			errs = append(errs, errors.New("cluster: peers found a cluster together: none founds one alone or joins"))
		}
	}
	return errors.Join(errs...) // the rest is raftfsm's to check
}

// Times, each multiplied by Multiplier.
const (
	stepEvery    = 250 * time.Millisecond // while the node is not settled
	settledEvery = time.Second
	meetTimeout  = time.Second
	serveTimeout = 3 * time.Second // longer than raftfsm waits for a majority
	aliveFor     = 3 * time.Second // after an answer
)

// Bounds of what is under way at once.
const (
	maxWrites = 1024 // through this node's clients
	maxServed = 4096 // calls of other nodes
)

// maxRequest is the largest write: a set of policies.
const maxRequest = 32 << 20

func callLimits() bus.CallLimits {
	l := bus.DefaultCallLimits()
	l.MaxFrame, l.MaxQueue = maxRequest, 2*maxRequest
	return l
}
