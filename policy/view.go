package policy

import (
	"iter"

	"github.com/rlserver/rlserver/limit"
)

// Compile checks a policy and makes it ready. Errors name the word that is
// wrong and what is allowed.
func Compile(p Policy, bounds limit.Bounds) (*Rule, error) { panic("not written") }

// Home appends what the hash slot of the rule's bucket is computed of: the
// client where PER holds client, else the PER values, else the policy's name.
func (r *Rule) Home(dst []byte, req *Request) []byte { panic("not written") }

// Bucket appends the identity of the rule's bucket for a request that it
// matches: unambiguous among all policies' buckets, whatever bytes the values have.
func (r *Rule) Bucket(dst []byte, req *Request) []byte { panic("not written") }

// Pick is what applies to a request in one scope.
type Pick struct {
	Scope  string
	Rule   *Rule // what decides; nil if only a shadow matches
	Shadow *Rule // the best policy in shadow mode; nil: none
}

// View is an immutable set of policies. The zero value is the empty set.
type View struct{}

// Len is the number of policies.
func (v *View) Len() int { panic("not written") }

// Get returns the policy of that name, or nil.
func (v *View) Get(name string) *Rule { panic("not written") }

// Set returns a view in which r replaces the policy of its name. v is unchanged.
func (v *View) Set(r *Rule) *View { panic("not written") }

// Delete returns a view without the policy of that name, or v itself if it has none.
func (v *View) Delete(name string) *View { panic("not written") }

// From yields the policies in the order of their names, from name on.
func (v *View) From(name string) iter.Seq[*Rule] { panic("not written") }

// Resolve appends to picks what applies to a request, a Pick for each scope in
// which something does, in the order of the scopes' names. It allocates
// nothing if picks has room.
func (v *View) Resolve(req *Request, picks []Pick) []Pick { panic("not written") }

// Candidate is a policy that matches a request.
type Candidate struct {
	Rule *Rule
	Lost string // why another went before it, in words; empty: it is the pick
}

// Explanation tells why a scope's pick is what it is.
type Explanation struct {
	Pick
	Why        string      // in words: what decided
	Candidates []Candidate // all that match, the most specific first, bounded
}

// Explain is Resolve for people.
func (v *View) Explain(req *Request) []Explanation { panic("not written") }

// Warnings says what an operator should know of a policy that is about to be
// set: where a client's override switches an endpoint's rule off, and the like.
func (v *View) Warnings(r *Rule) []string { panic("not written") }

// Answer is one scope's decision.
type Answer struct {
	Scope    string
	Decision limit.Decision
}

// Tightest returns the index of the answer that binds: the denying one with the
// longest wait (-1 is the longest), else the one with the least remaining
// share; ties by scope name.
func Tightest(answers []Answer) int { panic("not written") }
