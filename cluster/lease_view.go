package cluster

import (
	"slices"

	"github.com/rlserver/rlserver/cluster/lease"
	"github.com/rlserver/rlserver/raftfsm"
)

// leaseView shows a view of the log to leases.
type leaseView struct {
	view       *raftfsm.View
	registered []lease.NodeID
	voters     []lease.NodeID
	longest    int64
}

var _ lease.Replicated = (*leaseView)(nil)

func newLeaseView(view *raftfsm.View) *leaseView {
	v := &leaseView{view: view}
	for _, m := range view.Members() {
		if m.Epoch != 0 {
			v.registered = append(v.registered, lease.NodeID(m.ID))
			v.longest = max(v.longest, int64(m.Lease))
		}
	}
	slices.Sort(v.registered)
	for _, id := range view.Voters {
		v.voters = append(v.voters, lease.NodeID(id))
	}
	return v
}

// Applied implements lease.Replicated.
func (v *leaseView) Applied() uint64 { return v.view.Index }

func (v *leaseView) member(id lease.NodeID) raftfsm.Member {
	m, _ := v.view.Member(string(id))
	return m
}

// Epoch implements lease.Replicated.
func (v *leaseView) Epoch(id lease.NodeID) uint64 { return v.member(id).Epoch }

// Nonce implements lease.Replicated.
func (v *leaseView) Nonce(id lease.NodeID) lease.Nonce {
	m := v.member(id)
	return lease.Nonce{Start: m.Nonce, Count: m.Count}
}

// Lease implements lease.Replicated.
func (v *leaseView) Lease(id lease.NodeID) int64 { return int64(v.member(id).Lease) }

// LongestLease implements lease.Replicated.
func (v *leaseView) LongestLease() int64 { return v.longest }

// Registered implements lease.Replicated.
func (v *leaseView) Registered() []lease.NodeID { return v.registered }

// Voters implements lease.Replicated.
func (v *leaseView) Voters() []lease.NodeID { return v.voters }

// VotersIndex implements lease.Replicated.
func (v *leaseView) VotersIndex() uint64 { return v.view.VotersIndex }
