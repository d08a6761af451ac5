package commands

import (
	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/policy"
)

// Policies is the replicated set of policies. Every method may be called from
// any goroutine.
//
// Set and Delete do not wait: they call done once, within a bounded time, from
// any goroutine or from within. So many may be under way at once that an
// implementation must bound them: one too many is policy.ErrNotWritten. Their
// errors are policy.ErrNotWritten, policy.ErrOutcomeUnknown and
// *policy.VersionError, wrapped or not, or what is wrong with the policy.
type Policies interface {
	// View is the set as this node knows it now.
	View() *policy.View
	// Set replaces the policy of p's name. version is the log index that set
	// it; the same content again keeps the version it has. With ifVersion the
	// policy must have that version, or for 0 not exist.
	Set(p *policy.Policy, ifVersion *uint64, done func(version uint64, err error))
	// Delete removes a policy; existed is false if there was none. ifVersion is
	// as for Set.
	Delete(name string, ifVersion *uint64, done func(existed bool, err error))
}

// PolicyAsk is one bucket of a policy that is asked. It is where Slot and Key
// say, apart from all keys of RL.ALLOW.
type PolicyAsk struct {
	Slot   uint16
	Key    []byte // what policy.Rule's Bucket made; not retained unless a bucket is made for it
	Spec   limit.Spec
	Strict bool // it never over-admits, whatever was lost
}

// PolicyKeyed is what is asked of policies' buckets. Times are Unix
// nanoseconds; apart from the address each method is that of Keyed.
type PolicyKeyed interface {
	// DecideAll asks every bucket, all or nothing: one denial, and none is
	// charged. out, as long as asks, gets what each of them answers. No two
	// asks name the same bucket, and ATMOST goes with only one. An error means
	// that nothing was decided or changed. asks and out are not retained.
	DecideAll(asks []PolicyAsk, req limit.Request, now int64, out []limit.Decision) (allowed bool, err error)
	RefundPolicy(slot uint16, key []byte, n, now int64) (refunded, remaining int64, found bool, err error)
	ResetPolicy(slot uint16, key []byte, now int64) bool
	InspectPolicy(slot uint16, key []byte, now int64) (BucketInfo, bool)
}

// PolicyBuckets is where the counts of policies are kept: by the same store as
// Buckets, so that the slots a transaction holds are held for both.
type PolicyBuckets interface {
	PolicyKeyed
	// Within is for the one who holds slots: what is asked of others through
	// it would wait for ever.
	Within(held Held) PolicyKeyed
}
