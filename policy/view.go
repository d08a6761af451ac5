package policy

import (
	"hash/maphash"
	"iter"
	"slices"

	"github.com/tidwall/btree"
)

// View is an immutable set of policies. The zero value is the empty set.
//
// All methods may be called from any goroutine, but for Set and Delete, which
// make the next view: they must not be called on one view at the same time.
type View struct {
	names  *btree.Map[string, *Rule]  // nil if empty
	places *btree.Map[uint64, *group] // the index
	shapes []shapeCount               // that policies have, by scope
	seed   maphash.Seed
}

// Pick is what applies to a request in one scope.
type Pick struct {
	Scope  string
	Rule   *Rule // what decides; nil if only a shadow matches
	Shadow *Rule // the best policy in shadow mode; nil: none
}

// Len is the number of policies.
func (v *View) Len() int {
	if v.names == nil {
		return 0
	}
	return v.names.Len()
}

// Get returns the policy of that name, or nil.
func (v *View) Get(name string) *Rule {
	if v.names == nil {
		return nil
	}
	rule, _ := v.names.Get(name)
	return rule
}

// From yields the policies in the order of their names, from name on.
func (v *View) From(name string) iter.Seq[*Rule] {
	return func(yield func(*Rule) bool) {
		if v.names != nil {
			v.names.Ascend(name, func(_ string, r *Rule) bool { return yield(r) })
		}
	}
}

// Set returns a view in which r replaces the policy of its name. v is unchanged.
func (v *View) Set(r *Rule) *View {
	next := v.copy()
	if old, replaced := next.names.Set(r.Name, r); replaced {
		next.remove(old)
	}
	next.add(r)
	return next
}

// Delete returns a view without the policy of that name, or v itself if it has none.
func (v *View) Delete(name string) *View {
	if v.Get(name) == nil {
		return v
	}
	next := v.copy()
	old, _ := next.names.Delete(name)
	next.remove(old)
	return next
}

// copy returns a view that shares what is not changed later, on either side.
func (v *View) copy() *View {
	if v.names == nil {
		return &View{names: &btree.Map[string, *Rule]{}, places: &btree.Map[uint64, *group]{}, seed: maphash.MakeSeed()}
	}
	return &View{names: v.names.Copy(), places: v.places.Copy(), shapes: v.shapes, seed: v.seed}
}

// add enters r into the index.
func (v *View) add(r *Rule) {
	s := r.shape()
	i, found := v.findShape(&s)
	v.shapes = slices.Clone(v.shapes)
	if !found {
		v.shapes = slices.Insert(v.shapes, i, shapeCount{shape: s, salt: s.hash(v.seed)})
	}
	v.shapes[i].policies++
	place := v.shapes[i].place(v.seed, r)
	g, _ := v.places.Get(place)
	v.places.Set(place, g.with(r))
}

// remove takes r out of the index.
func (v *View) remove(r *Rule) {
	s := r.shape()
	i, _ := v.findShape(&s)
	place := v.shapes[i].place(v.seed, r)
	g, _ := v.places.Get(place)
	if g = g.without(r.Name); g.empty() {
		v.places.Delete(place)
	} else {
		v.places.Set(place, g)
	}
	v.shapes = slices.Clone(v.shapes)
	if v.shapes[i].policies--; v.shapes[i].policies == 0 {
		v.shapes = slices.Delete(v.shapes, i, i+1)
	}
}

func (v *View) findShape(s *shape) (int, bool) {
	return slices.BinarySearchFunc(v.shapes, s, func(a shapeCount, b *shape) int { return a.compare(b) })
}

// scopes lists the scopes that policies are in, as Policy.Scope has them.
func (v *View) scopes() []string {
	var all []string
	for i := range v.shapes {
		if scope := v.shapes[i].scope; len(all) == 0 || all[len(all)-1] != scope {
			all = append(all, scope)
		}
	}
	return all
}

// Resolve appends to picks what applies to a request, a Pick for each scope in
// which something does, at most MaxScopes, the default scope first and then in
// the order of the scopes' names. It allocates nothing if picks has room.
func (v *View) Resolve(req *Request, picks []Pick) []Pick {
	if len(v.shapes) == 0 {
		return picks
	}
	p := v.probe(req)
	var pick Pick
	for i := range v.shapes {
		s := &v.shapes[i]
		if place, ok := p.place(s); ok {
			if g, ok := v.places.Get(place); ok {
				pick.Rule = p.best(pick.Rule, g.rules[Enforce], s.scope)
				pick.Shadow = p.best(pick.Shadow, g.rules[Shadow], s.scope)
			}
		}
		if i+1 < len(v.shapes) && v.shapes[i+1].scope == s.scope {
			continue
		}
		if pick.Rule != nil {
			pick.Scope = pick.Rule.ScopeName()
		} else if pick.Shadow != nil {
			pick.Scope = pick.Shadow.ScopeName()
		}
		if pick.Scope != "" {
			picks = append(picks, pick)
			pick = Pick{}
		}
	}
	return picks
}
