package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Change is how one policy differs between two sets.
type Change struct {
	Name     string
	Old, New *Rule // nil: not in that set
}

// Diff lists what has to change for a view to become the set, by name. With
// keep, policies that the set does not have stay.
func (v *View) Diff(set []*Rule, keep bool) []Change {
	var all []Change
	wanted := map[string]bool{}
	for _, r := range set {
		wanted[r.Name] = true
		if old := v.Get(r.Name); old == nil || !old.Equal(&r.Policy) {
			all = append(all, Change{r.Name, old, r})
		}
	}
	if !keep {
		for old := range v.From("") {
			if !wanted[old.Name] {
				all = append(all, Change{old.Name, old, nil})
			}
		}
	}
	slices.SortFunc(all, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// String shows the change to a person: one line that begins with + for a new
// policy, - for one that goes, and ~ for one that changes, with what changes.
func (c Change) String() string {
	switch {
	case c.Old == nil:
		return fmt.Sprintf("+ %s  %s", c.Name, strings.Join(c.New.words(), " "))
	case c.New == nil:
		return fmt.Sprintf("- %s  %s", c.Name, strings.Join(c.Old.words(), " "))
	}
	var parts []string
	for _, word := range Words() {
		was, is := wordText(word, &c.Old.Policy), wordText(word, &c.New.Policy)
		switch {
		case was == is:
		case was == "":
			parts = append(parts, is)
		case is == "":
			parts = append(parts, "no "+was)
		case word.Values == 1:
			parts = append(parts, was+" -> "+strings.TrimPrefix(is, word.Name+" "))
		default:
			parts = append(parts, was+" -> "+is)
		}
	}
	return fmt.Sprintf("~ %s  %s", c.Name, strings.Join(parts, ", "))
}

// words are the policy's words with their values, as RL.POLICY.SET takes them.
func (p *Policy) words() []string {
	var all []string
	for _, word := range Words() {
		if text := wordText(word, p); text != "" {
			all = append(all, text)
		}
	}
	return all
}

// wordText is the word with its values as often as it is given, empty if it is
// at its default.
func wordText(word Word, p *Policy) string {
	var all []string
	for _, values := range word.Get(p) {
		all = append(all, word.Name)
		for _, value := range values {
			if strings.ContainsAny(value, " \"") {
				value = quote(value)
			}
			all = append(all, value)
		}
	}
	return strings.Join(all, " ")
}
