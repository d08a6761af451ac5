package commands

// Cluster is what RL.NODE.*, RL.SLOT.* and RL.CLUSTER.STATUS speak of. Every
// method may be called from any goroutine.
//
// Change and Move do not wait: they call done once, within a bounded time, from
// any goroutine or from within. Their errors are those of writes (see
// Policies), or say why the change is refused.
type Cluster interface {
	// Nodes describes the members, by name.
	Nodes() []NodeInfo
	// Change changes the member of that name.
	Change(change NodeChange, name string, done func(error))
	// Slots lists who owns what: ranges of slots, ascending, without overlap.
	Slots() []SlotRange
	// Move hands the slots first to last over to a node.
	Move(first, last uint16, to string, done func(error))
	// Status tells how the cluster fares, in the order in which it is shown.
	Status() []Field
}

// NodeChange is what can be done to a member.
type NodeChange uint8

// The changes.
const (
	NodeAdd           NodeChange = iota // a node of this name may join, also one that was removed
	NodeRemove                          // it is a member no more; its slots go to others
	NodePromote                         // it becomes a voter
	NodeDrain                           // its slots go to others, and none come to it
	NodeUndrain                         // slots come to it again
	NodeForceWithdraw                   // its slots are taken from it without waiting for it
)

// NodeInfo describes one member.
type NodeInfo struct {
	Name    string
	ID      string // 40 hex digits
	Addr    string // host:port for Redis clients
	BusAddr string // host:port for other nodes; empty: it has no bus
	Role    string // leader, voter or nonvoter
	State   string // alive, draining, dead, ...
	Slots   int    // that it owns
	Epoch   uint64 // its registration
}

// SlotRange is some neighbouring slots with the same owner, replica and version.
type SlotRange struct {
	First, Last uint16
	Owner       string // empty: nobody
	Replica     string // empty: none
	Version     uint64
}

// Field is one line of RL.CLUSTER.STATUS.
type Field struct{ Name, Value string }
