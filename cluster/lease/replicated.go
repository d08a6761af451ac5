package lease

// Nonce names one registration of one start of a process: a random half that is
// new with each start, and a half that counts the registrations since.
type Nonce struct {
	Start uint64 // random, not 0
	Count uint64 // 1, 2, ...
}

// Replicated is what this node's state machine shows at one log index. A value
// never changes: a later index is another value. It is read on the path of a
// decision, so its methods neither wait nor allocate, and callers do not write
// to what they return.
//
// The epoch of a node is the log index of its last registration, 0 where it is
// down, removed or unknown.
type Replicated interface {
	// Applied is the log index that is shown.
	Applied() uint64
	// Epoch is the node's epoch.
	Epoch(node NodeID) uint64
	// Nonce is that of the node's last registration, also after its epoch was
	// set to 0; the zero Nonce for a node that never registered.
	Nonce(node NodeID) Nonce
	// Lease is the length, in nanoseconds, that the node registered with.
	Lease(node NodeID) int64
	// LongestLease is the longest of all nodes with an epoch other than 0.
	LongestLease() int64
	// Registered are the nodes with an epoch other than 0, in a fixed order.
	Registered() []NodeID
	// Voters is the committed set of voters.
	Voters() []NodeID
	// VotersIndex is the log index of the entry that made that set, 0 if there
	// is none yet.
	VotersIndex() uint64
}
