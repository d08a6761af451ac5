package admin

import "github.com/rlserver/rlserver/limit"

// Node is the process that is shown. Its methods may be called from any
// goroutine, and must be cheap: each scrape and each look at the page calls
// them.
type Node interface {
	// Snapshot is what the node is and how it fares.
	Snapshot() Snapshot
	// TopDenied and TopAsked are at most n keys of the last one to two
	// minutes, the highest count first. The caller may change the slices.
	TopDenied(n int) []TopKey
	TopAsked(n int) []TopKey
	// PolicyCounts is what policies answered, of those that exist and were
	// asked; bounded, however many policies there are. The caller may change
	// the slice.
	PolicyCounts() []PolicyCount
	// Ready is nil if the node may be sent requests, else why not.
	Ready() error
	// Live is nil if the loops of the process go round, else which does not.
	Live() error
}

// TopKey is a key, any bytes, and an estimate of how often it came up.
type TopKey struct {
	Key   string
	Count int64
}

// Snapshot is one reading of a node. Fields of type uint64 and Count are
// counters: they rise from the start of the process on, but for Commands and
// Errors, which CONFIG RESETSTAT sets to 0.
type Snapshot struct {
	Version   string // the product's
	Node      string // its name
	Addr      string // host:port on which Redis clients are served
	StartedAt int64  // Unix nanoseconds

	Decisions                 [limit.AlgorithmCount]Outcomes
	Latency                   Histogram
	Replaced                  uint64         // decisions whose slot was lost before the reply left
	KeysTooLong, LogsTooLarge uint64         // requests over the operator's bounds
	Commands                  []CommandCount // bounded: the commands that exist
	Errors                    []Count        // by code; bounded by who counts

	Clients, MaxClients     int64
	Accepted                uint64
	Refused, Closed         []Count // connections, by reason
	AcceptErrors, Panics    uint64
	AuthFailures            uint64  // of Redis clients
	HandshakeFailures       []Count // of TLS, by door
	BytesRead, BytesWritten uint64

	SlotsOwned, Slots          int64
	Keys, Specs                int64 // held; distinct rules in use
	MemoryBuckets, MemoryLimit int64 // bytes of bucket state, and its bound
	MemoryHeap, MemoryRSS      int64 // bytes of the process
	EvictedFull                uint64
	EvictedNotFull             uint64 // counts that were forgotten to make room
	NoRoom                     uint64 // decisions that failed for want of memory
	Swept, Sweeps              uint64 // keys; rounds over all slots
	Conversions                uint64 // buckets that went on under another rule

	Policies PolicyCount // of all policies, also those that are gone; without a name
	Cluster  Cluster
	Disk     Disk
}

// Disk is how keeping the buckets on the disk fares.
type Disk struct {
	Loading bool // what is there is still read, and nothing decided
	Stopped bool // nothing is written at present

	WrittenBuckets, WrittenBytes uint64 // of changes
	Syncs, Saves                 uint64 // of files; of everything, as a whole
	Failures                     uint64 // times that writing stopped
	Damaged                      uint64 // parts of files that could not be read
}

// Outcomes counts decisions.
type Outcomes struct{ Allowed, Denied uint64 }

// Count is one counter of a family. Its name becomes a label: a family is
// bounded, whatever clients send.
type Count struct {
	Name string
	N    uint64
}

// CommandCount counts the runs of one command.
type CommandCount struct {
	Name     string // as in RL.HELP, in lower case
	Calls    uint64
	Rejected uint64 // before it ran: arity, access
	Failed   uint64 // it ran, and answered an error
}

// PolicyCount is what one policy answered since the start of the process.
type PolicyCount struct {
	Name                   string
	Decisions, Denied      uint64 // requests that it decided, and denied
	Shadowed, ShadowDenied uint64 // requests that it saw in shadow mode, and would have denied
}

// Cluster is what the node knows of those that it shares policies with.
type Cluster struct {
	Mode    string   // standalone or cluster
	ID      string   // empty: it is part of none yet
	Leader  string   // its name; empty: none is known
	Leads   bool     // it is this node
	Applied uint64   // index of the last entry of the log that was applied here
	Members []Member // this node is one of them, once it has joined
}

// Member is a node of the cluster, as this one sees it.
type Member struct {
	Name string // of one that never registered, its ID
	Addr string // host:port for Redis clients; empty: not known yet
	This bool   // it is the node that is shown

	Leads, Votes bool
	Alive        bool // it answered of late
}

// alive counts the members, or the voters alone, and those that answer.
func (c *Cluster) alive(votersOnly bool) (all, alive int64) {
	for i := range c.Members {
		m := &c.Members[i]
		if votersOnly && !m.Votes {
			continue
		}
		all++
		if m.Alive {
			alive++
		}
	}
	return all, alive
}

// decisions sums up all algorithms.
func (s *Snapshot) decisions() (sum Outcomes) {
	for _, o := range s.Decisions {
		sum.Allowed += o.Allowed
		sum.Denied += o.Denied
	}
	return sum
}
