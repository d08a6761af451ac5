package main

import (
	"github.com/rlserver/rlserver/commands"
	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/policy"
	"github.com/rlserver/rlserver/state"
)

// policyKeyed is what the store and held slots have in common.
type policyKeyed interface {
	DecideAll(asks []state.Ask, req limit.Request, now int64, out []limit.Decision) (bool, error)
	RefundPolicy(slot uint16, key []byte, n, now int64) (refunded, remaining int64, found bool, err error)
	ResetPolicy(slot uint16, key []byte, now int64) bool
	InspectPolicy(slot uint16, key []byte, now int64) (state.Info, bool)
}

// policyBuckets shows policies' buckets of the store to the commands in their
// words.
type policyBuckets struct{ heldPolicies[*state.Store] }

func newPolicyBuckets(store *state.Store) policyBuckets {
	return policyBuckets{heldPolicies[*state.Store]{store}}
}

// Within implements commands.PolicyBuckets.
func (policyBuckets) Within(slots commands.Held) commands.PolicyKeyed {
	return heldPolicies[*state.Held]{slots.(held).Held}
}

// heldPolicies is the same for the store and for held slots.
type heldPolicies[K policyKeyed] struct{ keyed K }

// DecideAll implements commands.PolicyKeyed.
func (h heldPolicies[K]) DecideAll(asks []commands.PolicyAsk, req limit.Request, now int64, out []limit.Decision) (bool, error) {
	var place [policy.MaxScopes]state.Ask
	all := place[:len(asks)]
	for i := range asks {
		all[i] = state.Ask(asks[i])
	}
	return h.keyed.DecideAll(all, req, now, out)
}

// RefundPolicy implements commands.PolicyKeyed.
func (h heldPolicies[K]) RefundPolicy(slot uint16, key []byte, n, now int64) (refunded, remaining int64, found bool, err error) {
	return h.keyed.RefundPolicy(slot, key, n, now)
}

// ResetPolicy implements commands.PolicyKeyed.
func (h heldPolicies[K]) ResetPolicy(slot uint16, key []byte, now int64) bool {
	return h.keyed.ResetPolicy(slot, key, now)
}

// InspectPolicy implements commands.PolicyKeyed.
func (h heldPolicies[K]) InspectPolicy(slot uint16, key []byte, now int64) (commands.BucketInfo, bool) {
	return bucketInfo(h.keyed.InspectPolicy(slot, key, now))
}
