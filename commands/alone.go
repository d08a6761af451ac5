package commands

import "errors"

// alone is the Cluster of a server that is no member of one: it owns every
// slot, and nothing about that can be changed.
type alone struct{ server Server }

var errAlone = errors.New("this server is alone: it is no member of a cluster")

// aloneVersion is the version of every slot: nothing ever changes it.
const aloneVersion = 1

// Nodes is this server.
func (a alone) Nodes() []NodeInfo {
	info := a.server.Describe()
	return []NodeInfo{{
		Name: info.Node, ID: info.RunID, Addr: info.Addr, Role: "leader", State: "alive",
		Slots: maxSlot + 1, Epoch: aloneVersion,
	}}
}

// Change is refused.
func (alone) Change(_ NodeChange, _ string, done func(error)) { done(errAlone) }

// Slots are all this server's.
func (a alone) Slots() []SlotRange {
	return []SlotRange{{First: 0, Last: maxSlot, Owner: a.server.Describe().Node, Version: aloneVersion}}
}

// Move is refused.
func (alone) Move(_, _ uint16, _ string, done func(error)) { done(errAlone) }

// Status tells that all is well.
func (a alone) Status() []Field {
	return []Field{
		{"state", "ok"},
		{"mode", "standalone"},
		{"node", a.server.Describe().Node},
		{"members", "1"},
		{"slots_owned", "16384"},
	}
}
