package raftfsm

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/hashicorp/raft"
)

// Stream carries Raft between nodes. Targets are "id@host:port".
type Stream interface {
	net.Listener
	DialTimeout(target string, timeout time.Duration) (net.Conn, error)
}

// Config is what a Node needs.
type Config struct {
	Dir     string // where it keeps its identity, its log and its snapshots
	Name    string // the operator's
	Addr    string // host:port for Redis clients
	BusAddr string // host:port for other nodes; empty: it has no bus
	Voters  int    // how many nodes vote

	// Stream is made when the node's id is known. Nil: the node is alone, and
	// founds a cluster of its own.
	Stream func(id string) (Stream, error)
	// Forward sends a request to the leader, where Serve answers it. Its errors
	// wrap policy.ErrNotWritten if the request certainly did not arrive, else
	// policy.ErrOutcomeUnknown. Not used by a node that is alone.
	Forward func(ctx context.Context, leader Member, request []byte) ([]byte, error)

	// VotersMayChange says whether the set of voters that an entry made may be
	// replaced, and if not which nodes stand in the way, as far as is known. Nil:
	// it always may.
	VotersMayChange func(votersIndex uint64) (by []string, ok bool)

	Multiplier int              // of Raft's times, 1 or more
	Now        func() time.Time // to tell that the disk hangs
	Rand       io.Reader        // of ids
	Log        *slog.Logger
	// Fatal is called at most once, when the process must end: the store failed
	// or hangs, or the log has an entry that cannot be understood. Nothing is
	// proposed or applied from then on.
	Fatal func(error)
	// StoreDelay, if not nil, is called before each write to the store: tests
	// make it slow or hang.
	StoreDelay func()
}

func (c *Config) validate() error {
	var errs []error
	for _, f := range []struct {
		name    string
		missing bool
	}{
		{"directory", c.Dir == ""},
		{"name", c.Name == ""},
		{"clock", c.Now == nil},
		{"source of random bytes", c.Rand == nil},
		{"logger", c.Log == nil},
		{"function for fatal errors", c.Fatal == nil},
		{"function that forwards", c.Stream != nil && c.Forward == nil},
	} {
		if f.missing {
			errs = append(errs, errors.New("raftfsm: no "+f.name))
		}
	}
	if c.Voters < 1 || c.Multiplier < 1 {
		errs = append(errs, errors.New("raftfsm: voters and multiplier must be at least 1"))
	}
	return errors.Join(errs...)
}

// Times, each multiplied by Multiplier. Short ones heal quickly; with them a
// busy machine of two cores made no election without a cause.
const (
	electionTimeout = 500 * time.Millisecond
	leaseTimeout    = 400 * time.Millisecond
	aloneTimeout    = 50 * time.Millisecond // of an election among one: nobody can be disturbed
	commitTimeout   = 25 * time.Millisecond
	rpcTimeout      = 2 * time.Second
	writeTimeout    = 2500 * time.Millisecond // shorter than the 3 s after which go-redis gives up
	storeTimeout    = 5 * time.Second
	tendEvery       = 250 * time.Millisecond
)

// Sizes of the log.
const (
	snapshotEach  = 4096 // entries, or as many as there are policies
	trailingLogs  = 10_240
	keptSnapshots = 2
	maxAppend     = 64
	maxPool       = 3
)

func (n *Node) times(d time.Duration) time.Duration { return d * time.Duration(n.cfg.Multiplier) }

func (n *Node) raftConfig() *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(n.id)
	c.HeartbeatTimeout = n.times(electionTimeout)
	c.ElectionTimeout = n.times(electionTimeout)
	c.LeaderLeaseTimeout = n.times(leaseTimeout)
	if n.cfg.Stream == nil {
		c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = aloneTimeout, aloneTimeout, aloneTimeout
	}
	c.CommitTimeout = commitTimeout
	c.MaxAppendEntries = maxAppend
	c.SnapshotThreshold = snapshotEach
	c.SnapshotInterval = 30 * time.Second
	c.TrailingLogs = trailingLogs
	c.ShutdownOnRemove = false
	c.NoLegacyTelemetry = true
	c.Logger = raftLogger(n.cfg.Log)
	return c
}
