package policy

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
)

// The index is a tuple space: policies that name the same kinds of things in
// the same scope have one shape, and a request looks each shape up once, by the
// hash of what it has in those places. What is found are candidates, all of
// which are compared with the request, so that equal hashes of different
// things do no harm. The cost grows with the kinds of policies, not with their
// number.

// shape is what a policy's place in the index is made of.
type shape struct {
	scope    string // as in Policy
	client   bool   // its client is named
	tier     bool   // its tier is named
	endpoint int    // the literal segments before its pattern's wildcard, or one of those below
	attr     string // the first of its exact attributes; empty: none
}

const (
	anyEndpoint   = -1
	wholeEndpoint = -2 // no wildcard
)

// shapeCount is a shape that policies have. A list of them is sorted by scope,
// so that those of a scope are neighbours.
type shapeCount struct {
	shape
	salt     uint64 // distinguishes the shapes' hashes
	policies int
}

func (s *shape) compare(o *shape) int {
	return cmp.Or(strings.Compare(s.scope, o.scope), strings.Compare(s.attr, o.attr),
		cmp.Compare(s.endpoint, o.endpoint), compareBool(s.client, o.client), compareBool(s.tier, o.tier))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// shape returns the rule's.
func (r *Rule) shape() shape {
	s := shape{scope: r.Scope, client: r.Client != "", tier: r.Tier != "", endpoint: anyEndpoint}
	if r.endpoint != nil {
		s.endpoint = wholeEndpoint
		if !r.endpoint.exact() {
			s.endpoint = r.endpoint.literals
		}
	}
	if i := slices.IndexFunc(r.Attrs, func(a Attr) bool { return !isGlob(a.Pattern) }); i >= 0 {
		s.attr = r.Attrs[i].Name
	}
	return s
}

// group is the policies of one place in the index by their modes, the most
// specific first. It is immutable.
type group struct {
	rules [Off + 1][]*Rule
}

// with returns the group with r in it, and without the policy of its name.
func (g *group) with(r *Rule) *group {
	next := g.without(r.Name)
	rules := next.rules[r.Mode]
	i, _ := slices.BinarySearchFunc(rules, r, func(a, b *Rule) int { return strings.Compare(a.order, b.order) })
	next.rules[r.Mode] = slices.Insert(rules[:len(rules):len(rules)], i, r)
	return next
}

func (g *group) without(name string) *group {
	next := &group{}
	if g == nil {
		return next
	}
	next.rules = g.rules
	for mode, rules := range g.rules {
		if i := slices.IndexFunc(rules, func(r *Rule) bool { return r.Name == name }); i >= 0 {
			next.rules[mode] = slices.Concat(rules[:i], rules[i+1:])
		}
	}
	return next
}

func (g *group) empty() bool {
	return len(g.rules[Enforce])+len(g.rules[Shadow])+len(g.rules[Off]) == 0
}

// mix adds the hash of one more thing.
func mix(h, part uint64) uint64 {
	h = (h ^ part) * 0x9e3779b97f4a7c15 // odd: no information is lost
	return h ^ h>>29
}

// salt is the hash that a shape begins with.
func (s *shape) hash(seed maphash.Seed) uint64 {
	h := mix(maphash.String(seed, s.scope), maphash.String(seed, s.attr))
	kind := uint64(s.endpoint+2) << 2 // one of those below 0 included
	if s.client {
		kind |= 1
	}
	if s.tier {
		kind |= 2
	}
	return mix(h, kind)
}

// place is where the index has the rule.
func (s *shapeCount) place(seed maphash.Seed, r *Rule) uint64 {
	h := s.salt
	if s.client {
		h = mix(h, maphash.String(seed, r.Client))
	}
	if s.tier {
		h = mix(h, maphash.String(seed, r.Tier))
	}
	if s.endpoint != anyEndpoint {
		h = mix(h, maphash.String(seed, r.endpoint.prefix()))
	}
	if s.attr != "" {
		i := slices.IndexFunc(r.Attrs, func(a Attr) bool { return a.Name == s.attr })
		h = mix(h, maphash.String(seed, r.Attrs[i].Pattern))
	}
	return h
}

// probe is a request that is being looked up.
type probe struct {
	*Request
	seed         maphash.Seed
	method, path []byte
	client, tier uint64 // hashes
}

func (v *View) probe(req *Request) probe {
	p := probe{Request: req, seed: v.seed}
	p.method, p.path = splitEndpoint(req.Endpoint)
	p.client = maphash.Bytes(v.seed, req.Client)
	if len(req.Tier) > 0 {
		p.tier = maphash.Bytes(v.seed, req.Tier)
	}
	return p
}

// place is where the index has the policies of that shape which the request
// may meet; false if it can meet none.
func (p *probe) place(s *shapeCount) (uint64, bool) {
	h := s.salt
	if s.client {
		h = mix(h, p.client)
	}
	if s.tier {
		if len(p.Tier) == 0 {
			return 0, false
		}
		h = mix(h, p.tier)
	}
	if s.endpoint != anyEndpoint {
		path, ok := p.path, len(p.Endpoint) > 0
		if ok && s.endpoint != wholeEndpoint {
			path, ok = leading(p.path, s.endpoint)
		}
		if !ok {
			return 0, false
		}
		h = mix(h, maphash.Bytes(p.seed, path))
	}
	if s.attr != "" {
		value, has := p.attr(s.attr)
		if !has {
			return 0, false
		}
		h = mix(h, maphash.Bytes(p.seed, value))
	}
	return h, true
}

// best returns the more specific of best, which may be nil, and the first rule
// that matches.
func (p *probe) best(best *Rule, rules []*Rule, scope string) *Rule {
	for _, r := range rules {
		if best != nil && best.order < r.order {
			break
		}
		if r.Scope == scope && r.matches(p.Request, p.method, p.path) {
			return r
		}
	}
	return best
}
