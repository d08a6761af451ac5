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

// decisions sums up all algorithms.
func (s *Snapshot) decisions() (sum Outcomes) {
	for _, o := range s.Decisions {
		sum.Allowed += o.Allowed
		sum.Denied += o.Denied
	}
	return sum
}
