package admin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/policy"
)

// policiesShown is how many policies the page lists.
const policiesShown = 20

// policyList is what the page shows of policies.
type policyList struct {
	Rows []policyRow
	More string // how many are not listed; "": none
}

// policyRow is a line of the list of policies.
type policyRow struct {
	Name, Rule        string
	Mode              string // "": it decides
	Decisions, Denied string
	Shadow            string // what it would deny of how much; "": it saw nothing in shadow mode
	Long              bool   // it may have to be scrolled
}

// newPolicyList lists those first that deny most, then those that are asked
// most, then the others by name.
func newPolicyList(view *policy.View, counts []PolicyCount) *policyList {
	counts = slices.DeleteFunc(counts, func(c PolicyCount) bool { return view.Get(c.Name) == nil })
	slices.SortFunc(counts, func(a, b PolicyCount) int {
		return cmp.Or(
			cmp.Compare(b.Denied, a.Denied),
			cmp.Compare(b.Decisions+b.Shadowed, a.Decisions+a.Shadowed),
			cmp.Compare(a.Name, b.Name),
		)
	})
	l := &policyList{}
	asked := make(map[string]bool)
	for _, c := range counts[:min(len(counts), policiesShown)] {
		asked[c.Name] = true
		l.Rows = append(l.Rows, newPolicyRow(view.Get(c.Name), c))
	}
	for rule := range view.From("") {
		if len(l.Rows) >= policiesShown {
			break
		}
		if !asked[rule.Name] {
			l.Rows = append(l.Rows, newPolicyRow(rule, PolicyCount{}))
		}
	}
	if more := view.Len() - len(l.Rows); more > 0 {
		l.More = grouped(int64(more))
	}
	return l
}

func newPolicyRow(rule *policy.Rule, c PolicyCount) policyRow {
	row := policyRow{
		Name: readable(rule.Name), Rule: readable(ruleWords(rule)),
		Decisions: grouped(c.Decisions), Denied: grouped(c.Denied),
	}
	switch rule.Mode {
	case policy.Shadow:
		row.Mode = "shadow"
	case policy.Off:
		row.Mode = "off"
	case policy.Enforce:
	}
	if c.Shadowed > 0 {
		row.Shadow = grouped(c.ShadowDenied) + " of " + grouped(c.Shadowed)
	}
	row.Long = len(row.Name) > plainKey || len(row.Rule) > 2*plainKey
	return row
}

// ruleWords says a rule in words: how much, for whom, and where it applies.
func ruleWords(r *policy.Rule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s per %s", grouped(r.Limit), limit.FormatWindow(r.Window))
	if r.Spec.Burst != r.Limit {
		fmt.Fprintf(&b, ", burst %s", grouped(r.Spec.Burst))
	}
	fmt.Fprintf(&b, ", %s, %s", r.Algorithm, perWords(r.Per))

	var where []string
	add := func(what, value string) {
		if value != "" {
			where = append(where, what+" "+value)
		}
	}
	add("client", r.Client)
	add("tier", r.Tier)
	add("endpoint", r.Endpoint)
	for _, a := range r.Attrs {
		add(a.Name, a.Pattern)
	}
	if len(where) > 0 {
		fmt.Fprintf(&b, "; for %s", strings.Join(where, ", "))
	}
	if r.Scope != "" {
		fmt.Fprintf(&b, "; scope %s", r.Scope)
	}
	if r.Priority != 0 {
		fmt.Fprintf(&b, "; priority %d", r.Priority)
	}
	return b.String()
}

// perWords says whose bucket it is.
func perWords(per []string) string {
	switch {
	case per == nil:
		return "each client"
	case len(per) == 0:
		return "all together"
	}
	return "each " + strings.Join(per, " and ")
}
