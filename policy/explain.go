package policy

import (
	"fmt"
	"slices"
	"strings"
)

// maxCandidates bounds what an Explanation lists.
const maxCandidates = 100

// Candidate is a policy that matches a request.
type Candidate struct {
	Rule *Rule
	Lost string // why another went before it, in words; empty: it is the pick
}

// Explanation tells why a scope's pick is what it is.
type Explanation struct {
	Pick
	Why        string      // in words: what decided
	Candidates []Candidate // all that match, the most specific first, at most 100
}

// Explain is Resolve for people. It also lists policies that are off.
func (v *View) Explain(req *Request) []Explanation {
	var all []Explanation
	matching := v.matching(req)
	for len(matching) > 0 {
		end := slices.IndexFunc(matching, func(r *Rule) bool { return r.Scope != matching[0].Scope })
		if end < 0 {
			end = len(matching)
		}
		if e := explain(matching[:end]); e.Rule != nil || e.Shadow != nil {
			all = append(all, e)
		}
		matching = matching[end:]
	}
	return all
}

// matching lists the policies that match by scope, the most specific first.
func (v *View) matching(req *Request) []*Rule {
	if len(v.shapes) == 0 {
		return nil
	}
	var all []*Rule
	p := v.probe(req)
	for i := range v.shapes {
		place, ok := p.place(&v.shapes[i])
		if !ok {
			continue
		}
		g, ok := v.places.Get(place)
		if !ok {
			continue
		}
		for _, rules := range g.rules {
			for _, r := range rules {
				if r.Scope == v.shapes[i].scope && r.matches(req, p.method, p.path) {
					all = append(all, r)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b *Rule) int {
		if a.Scope != b.Scope {
			return strings.Compare(a.Scope, b.Scope)
		}
		return strings.Compare(a.order, b.order)
	})
	return all
}

// explain tells of one scope, of which matching are the policies, in order.
func explain(matching []*Rule) Explanation {
	e := Explanation{Pick: Pick{Scope: matching[0].ScopeName()}}
	var second *Rule
	for _, r := range matching {
		switch {
		case r.Mode == Enforce && e.Rule == nil:
			e.Rule = r
		case r.Mode == Enforce && second == nil:
			second = r
		case r.Mode == Shadow && e.Shadow == nil:
			e.Shadow = r
		}
	}
	switch {
	case e.Rule == nil:
		e.Why = "only policies in shadow mode match"
	case second == nil:
		e.Why = "it is the only policy in enforce mode that matches"
	default:
		e.Why = fmt.Sprintf("before %s: %s", second.Name, difference(e.Rule, second))
	}
	for _, r := range matching[:min(len(matching), maxCandidates)] {
		c := Candidate{Rule: r}
		switch {
		case r == e.Rule:
		case r.Mode != Enforce:
			c.Lost = "MODE " + modes()[r.Mode]
		default:
			c.Lost = difference(e.Rule, r)
		}
		e.Candidates = append(e.Candidates, c)
	}
	return e
}

// difference says by what first, which goes before second, does so.
func difference(first, second *Rule) string {
	switch {
	case first.Priority != second.Priority:
		return fmt.Sprintf("PRIORITY %d is above %d", first.Priority, second.Priority)
	case (first.Client != "") != (second.Client != ""):
		return fmt.Sprintf("%s names the CLIENT", first.Name)
	case string(first.endpoint.ranks()) != string(second.endpoint.ranks()):
		return endpointDifference(first, second)
	case (first.Tier != "") != (second.Tier != ""):
		return fmt.Sprintf("%s names the TIER", first.Name)
	case first.exactAttrs() != second.exactAttrs():
		return fmt.Sprintf("%s names more ATTRs exactly, %d and %d", first.Name, first.exactAttrs(), second.exactAttrs())
	case len(first.Attrs) != len(second.Attrs):
		return fmt.Sprintf("%s names more ATTRs by pattern, %d and %d",
			first.Name, len(first.Attrs)-first.exactAttrs(), len(second.Attrs)-second.exactAttrs())
	}
	return fmt.Sprintf("equally specific, and its name %s comes first", first.Name)
}

func endpointDifference(first, second *Rule) string {
	switch {
	case second.endpoint == nil:
		return fmt.Sprintf("%s names the ENDPOINT", first.Name)
	case first.endpoint.exact() != second.endpoint.exact():
		return fmt.Sprintf("the ENDPOINT of %s is exact, that of %s a pattern", first.Name, second.Name)
	case first.endpoint.method != "" && second.endpoint.method == "" && first.endpoint.path == second.endpoint.path:
		return fmt.Sprintf("the ENDPOINT of %s names the method", first.Name)
	}
	return fmt.Sprintf("the ENDPOINT of %s, %s, is more specific than %s", first.Name, first.Endpoint, second.Endpoint)
}
