// Package policy holds limits as data: named policies, which of them a request
// meets, and whose bucket it is charged to. It is pure: no clock, no lock, no
// I/O. A View is immutable; a change makes a new one that shares the rest.
package policy

import (
	"slices"

	"github.com/rlserver/rlserver/limit"
)

// Mode says what a policy does where it matches.
type Mode uint8

// The modes.
const (
	Enforce Mode = iota // it decides
	Shadow              // it is evaluated beside what decides, and only counted
	Off                 // it is as if it did not exist
)

// OnError says what is answered when the owner of a bucket cannot be asked.
type OnError uint8

// What can be answered.
const (
	OnErrorDefault OnError = iota // as the server's --on-error says
	OnErrorOpen                   // pass, uncounted
	OnErrorClosed                 // deny
	OnErrorLocal                  // a local share of the limit
	OnErrorError                  // an error
)

// OnLoss says what a key starts with where counts may have died with a node.
type OnLoss uint8

// What a key can start with.
const (
	OnLossKeep  OnLoss = iota // what the replica or the disk has
	OnLossEmpty               // full debt: no unit passes twice
)

// Attr is a further attribute that a policy asks for.
type Attr struct {
	Name    string
	Pattern string // of its value: exact, or a glob with * and ?
}

// DefaultScope is the scope of a policy that names none.
const DefaultScope = "default"

// Policy is a named rule as an operator sets it. The zero value of a field is
// its default. It is not changed once it was compiled.
type Policy struct {
	Name      string
	Limit     int64 // units earned per Window
	Window    int64 // nanoseconds
	Burst     int64 // 0: the default
	Algorithm limit.Algorithm

	// What it matches; all that is named must match.
	Client   string // empty: any
	Tier     string // empty: any
	Endpoint string // a pattern such as `POST /api/*`; empty: any
	Attrs    []Attr // by name, ascending; each name once

	Per      []string // whose bucket: names of attributes, in order; nil: client; empty: one bucket for all
	Scope    string   // empty: DefaultScope
	Priority int64
	OnError  OnError
	OnLoss   OnLoss
	Force    bool // OnLossEmpty is meant although a refill takes over an hour
	Mode     Mode

	Version uint64 // the log index that set it; 0: not set yet
}

// Equal reports whether two policies say the same, whatever their versions.
// Both must have been compiled, which makes their forms one.
func (p *Policy) Equal(o *Policy) bool {
	return p.Name == o.Name &&
		p.Limit == o.Limit && p.Window == o.Window && p.Burst == o.Burst && p.Algorithm == o.Algorithm &&
		p.Client == o.Client && p.Tier == o.Tier && p.Endpoint == o.Endpoint && slices.Equal(p.Attrs, o.Attrs) &&
		slices.Equal(p.Per, o.Per) && (p.Per == nil) == (o.Per == nil) &&
		p.Scope == o.Scope && p.Priority == o.Priority &&
		p.OnError == o.OnError && p.OnLoss == o.OnLoss && p.Force == o.Force && p.Mode == o.Mode
}

// RequestAttr is a further attribute of a request.
type RequestAttr struct{ Name, Value []byte }

// Request is what a caller says of the request it asks about. Nothing of it
// is retained.
type Request struct {
	Client   []byte
	Tier     []byte // empty: the request has none
	Endpoint []byte // `METHOD /path` or `/path`, a query after ? is not looked at; empty: the request has none
	Attrs    []RequestAttr
}

// Rule is a policy ready for decisions, as Compile makes it. It is immutable.
type Rule struct {
	Policy
	Spec limit.Spec

	endpoint *pattern // nil: any
	order    string   // the smaller, the more specific
	identity string   // what the identities of its buckets begin with
}

// Strict reports whether the rule never over-admits, whatever fails.
func (r *Rule) Strict() bool { return r.OnError == OnErrorClosed && r.OnLoss == OnLossEmpty }

// ScopeName is the name of the rule's scope.
func (r *Rule) ScopeName() string {
	if r.Scope == "" {
		return DefaultScope
	}
	return r.Scope
}

// WithVersion returns the rule as the log index version set it.
func (r *Rule) WithVersion(version uint64) *Rule {
	set := *r
	set.Version = version
	return &set
}
