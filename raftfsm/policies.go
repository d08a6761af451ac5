package raftfsm

import (
	"fmt"
	"slices"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/policy"
)

// bounds are those of the log: what an operator allows with a flag is checked
// before an entry is proposed, since all nodes must apply it alike.
func bounds() limit.Bounds { return limit.Bounds{MaxLog: limit.MaxUnits} }

// appendPolicy appends a policy's words, each as often as it is given.
func appendPolicy(b []byte, p *policy.Policy) []byte {
	b = appendText(b, p.Name)
	type given struct {
		word   string
		values []string
	}
	var all []given
	for _, word := range policy.Words() {
		for _, values := range word.Get(p) {
			all = append(all, given{word.Name, values})
		}
	}
	b = appendNumber(b, uint64(len(all)))
	for _, g := range all {
		b = appendNumber(appendText(b, g.word), uint64(len(g.values)))
		for _, value := range g.values {
			b = appendText(b, value)
		}
	}
	return b
}

// readPolicy reads a policy and compiles it.
func readPolicy(d *decoder, words []policy.Word) *policy.Rule {
	p := policy.Policy{Name: d.text()}
	for range d.count() {
		name := d.text()
		values := make([][]byte, d.count())
		for i := range values {
			values[i] = d.bytes(d.count())
		}
		if d.err != nil {
			return nil
		}
		i := slices.IndexFunc(words, func(w policy.Word) bool { return w.Name == name })
		if i < 0 || words[i].Values != len(values) {
			d.fail(fmt.Errorf("policy %q has the unknown word %q with %d values", p.Name, name, len(values)))
			return nil
		}
		if err := words[i].Set(&p, values); err != nil {
			d.fail(fmt.Errorf("policy %q: %w", p.Name, err))
			return nil
		}
	}
	if d.err != nil {
		return nil
	}
	rule, err := policy.Compile(p, bounds())
	if err != nil {
		d.fail(fmt.Errorf("policy %q: %w", p.Name, err))
	}
	return rule
}

// appendWanted appends the version that a policy must have; nil is any.
func appendWanted(b []byte, version *uint64) []byte {
	if version == nil {
		return appendBool(b, false)
	}
	return appendNumber(appendBool(b, true), *version)
}

func readWanted(d *decoder) *uint64 {
	if !d.bool() {
		return nil
	}
	version := d.number()
	return &version
}

// wanted says whether the policy has the version that is asked for.
func (s *state) wanted(name string, ifVersion *uint64) (have uint64, ok bool) {
	if old := s.policies.Get(name); old != nil {
		have = old.Version
	}
	return have, ifVersion == nil || *ifVersion == have
}

// PolicySet replaces the policy of the rule's name, or creates it. The same
// content keeps its version.
type PolicySet struct {
	Rule      *policy.Rule
	IfVersion *uint64 // it must have that version, or for 0 not exist; nil: any
}

func (PolicySet) kind() Type    { return TypePolicySet }
func (PolicySet) version() byte { return 1 }
func (c PolicySet) append(b []byte) []byte {
	return appendPolicy(appendWanted(b, c.IfVersion), &c.Rule.Policy)
}

func readPolicySet(d *decoder) PolicySet {
	c := PolicySet{IfVersion: readWanted(d)}
	c.Rule = readPolicy(d, policy.Words())
	return c
}

func (c PolicySet) apply(s *state, index uint64) Result {
	have, ok := s.wanted(c.Rule.Name, c.IfVersion)
	if !ok {
		return Result{Refusal: RefusedVersion, Want: *c.IfVersion, Have: have}
	}
	if old := s.policies.Get(c.Rule.Name); old != nil && old.Equal(&c.Rule.Policy) {
		return Result{Version: old.Version}
	}
	if err := s.policies.Check(c.Rule); err != nil {
		return refuse("%v", err)
	}
	s.policies = s.policies.Set(c.Rule.WithVersion(index))
	return Result{Version: index}
}

// PolicyDelete deletes a policy.
type PolicyDelete struct {
	Name      string
	IfVersion *uint64 // as in PolicySet
}

func (PolicyDelete) kind() Type    { return TypePolicyDelete }
func (PolicyDelete) version() byte { return 1 }
func (c PolicyDelete) append(b []byte) []byte {
	return appendText(appendWanted(b, c.IfVersion), c.Name)
}

func readPolicyDelete(d *decoder) PolicyDelete {
	c := PolicyDelete{IfVersion: readWanted(d)}
	c.Name = d.text()
	return c
}

func (c PolicyDelete) apply(s *state, _ uint64) Result {
	have, ok := s.wanted(c.Name, c.IfVersion)
	if !ok {
		return Result{Refusal: RefusedVersion, Want: *c.IfVersion, Have: have}
	}
	s.policies = s.policies.Delete(c.Name)
	return Result{Existed: have != 0}
}

// PolicyReplace makes a set of policies the whole of what there is, all of it
// or nothing.
type PolicyReplace struct {
	Rules []*policy.Rule // by name, each name once
	Keep  bool           // policies that are not in the set stay
}

func (PolicyReplace) kind() Type    { return TypePolicyReplace }
func (PolicyReplace) version() byte { return 1 }
func (c PolicyReplace) append(b []byte) []byte {
	b = appendNumber(appendBool(b, c.Keep), uint64(len(c.Rules)))
	for _, r := range c.Rules {
		b = appendPolicy(b, &r.Policy)
	}
	return b
}

func readPolicyReplace(d *decoder) PolicyReplace {
	c := PolicyReplace{Keep: d.bool()}
	words := policy.Words()
	for range d.count() {
		r := readPolicy(d, words)
		if d.err != nil {
			return c
		}
		if n := len(c.Rules); n > 0 && c.Rules[n-1].Name >= r.Name {
			d.fail(fmt.Errorf("policy %q is out of order", r.Name))
			return c
		}
		c.Rules = append(c.Rules, r)
	}
	return c
}

func (c PolicyReplace) apply(s *state, index uint64) Result {
	next := s.policies
	changes := s.policies.Diff(c.Rules, c.Keep)
	for _, change := range changes {
		if change.New == nil {
			next = next.Delete(change.Name)
		}
	}
	for _, change := range changes {
		if change.New == nil {
			continue
		}
		if err := next.Check(change.New); err != nil {
			return refuse("policy %s: %v", change.Name, err)
		}
		next = next.Set(change.New.WithVersion(index))
	}
	s.policies = next
	return Result{Version: index}
}
