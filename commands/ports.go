package commands

import (
	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/resp"
)

// Keyed is what is asked of one key. Keys are not retained unless a bucket is
// made for them. Times are Unix nanoseconds.
type Keyed interface {
	// Decide asks key's bucket under spec. A denial, a probe and cost 0
	// change nothing. An error means that nothing was decided or changed.
	Decide(key []byte, spec limit.Spec, req limit.Request, now int64) (limit.Decision, error)
	// Refund gives back at most n units. found is false for an unknown or a
	// full key; an error means that this bucket's algorithm cannot give back.
	Refund(key []byte, n, now int64) (refunded, remaining int64, found bool, err error)
	// Reset makes key as new; false if it was.
	Reset(key []byte, now int64) bool
	// Inspect describes key's bucket; false if it is unknown or full.
	Inspect(key []byte, now int64) (BucketInfo, bool)
	// FullIn is the time until key is as new, in nanoseconds; false if it is.
	FullIn(key []byte, now int64) (int64, bool)
}

// Held is some slots' keys, from which others are kept away until Release. It
// is for one goroutine.
type Held interface {
	Keyed
	Release()
}

// Buckets is where counts are kept. Every method may be called from any
// goroutine.
type Buckets interface {
	Keyed
	// Hold waits for slots, and then keeps others away from them.
	Hold(slots []uint16) Held
	// Len is the number of keys held, full ones that were not swept included.
	Len() int64
	// Scan visits about count keys from cursor on, and returns the next
	// cursor, 0 at the end. The key is valid only during the visit.
	Scan(cursor uint64, count int, now int64, visit func(key []byte)) uint64
	// CountInSlot and KeysInSlot speak of one hash slot.
	CountInSlot(slot uint16) int
	KeysInSlot(slot uint16, n int, now int64, visit func(key []byte))
	// Flush drops every key and returns how many there were.
	Flush() int64
	// TopAsked and TopDenied estimate the n keys most asked and most denied
	// of late, highest first.
	TopAsked(n int, now int64) []TopKey
	TopDenied(n int, now int64) []TopKey
}

// BucketInfo describes one bucket.
type BucketInfo struct {
	Spec      limit.Spec
	Remaining int64 // whole units
	ResetMS   int64 // until it is as new
	IdleMS    int64 // since it last admitted
	Bytes     int64 // accounted memory
}

// TopKey is one line of RL.TOP.
type TopKey struct {
	Key   string
	Count int64
}

// Ownership says which slots this node may count.
type Ownership interface {
	// Slot is the hash slot of a key.
	Slot(key []byte) uint16
	// Serve returns the version under which this node owns slot, and whether
	// it may decide for it now.
	Serve(slot uint16) (version uint64, ok bool)
	// MayAnswer says whether this node may answer for what it owns at this
	// moment; it is asked once right before replies leave, and Holds after it.
	MayAnswer() bool
	// Holds reports whether a decision made under version is still good.
	Holds(slot uint16, version uint64) bool
	// Owner is the name of the node that owns slot.
	Owner(slot uint16) string
}

// Server is the process that clients talk to.
type Server interface {
	// Describe tells what it is and how it fares.
	Describe() ServerInfo
	// Clients describes every connection; Kill cuts those that match.
	Clients() []resp.ClientInfo
	Kill(match func(resp.ClientInfo) bool) int
	// Settings are what CONFIG GET may show: secrets are not among them.
	Settings() []Setting
	// Set changes a setting that can change at run time. known is false for
	// one that does not exist or cannot.
	Set(name, value string) (known bool, err error)
	// Shutdown begins a drain, as SIGTERM does.
	Shutdown()
}

// Setting is one line of the configuration.
type Setting struct{ Name, Value string }

// ServerInfo is what INFO tells of the process.
type ServerInfo struct {
	Version   string // the product's
	Node      string
	RunID     string // 40 hex digits, new at each start
	Addr      string // host:port on which Redis clients are served
	OS        string
	PID       int
	StartedAt int64 // Unix nanoseconds

	Clients, MaxClients         int64
	Accepted, Refused           int64
	BytesRead, BytesWritten     int64
	MemoryHeap, MemoryRSS       int64 // bytes of the process
	MemoryBuckets, MemoryLimit  int64 // bytes of bucket state, and its bound
	CPUUser, CPUSystem          float64
	Goroutines                  int64
	Specs                       int64 // distinct rules in use
	Evicted, EvictedUsed, Swept int64 // buckets; EvictedUsed were not full
	Conversions                 int64 // buckets that changed their rule
}
