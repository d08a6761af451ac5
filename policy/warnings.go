package policy

import (
	"fmt"
	"slices"
)

// maxWarned bounds how many policies are looked at for a warning, and how many
// are named.
const (
	maxLookedAt = 1000
	maxWarned   = 3
)

// Warnings says what an operator should know of a policy that is about to be
// set: where a client's override switches an endpoint's rule off, where another
// policy keeps it from ever being picked, and the like. Of a large set only a
// part is looked at.
func (v *View) Warnings(r *Rule) []string {
	var all []string
	if r.OnLoss == OnLossEmpty && r.OnError != OnErrorClosed {
		all = append(all, "ONLOSS empty without ONERROR closed: requests that cannot be counted may pass, so it may still admit more than its limit")
	}
	if r.Mode == Off {
		return append(all, "MODE off: it applies to no request")
	}
	var overrides, twins []string
	looked := 0
	for other := range v.From("") {
		if looked++; looked > maxLookedAt || len(overrides)+len(twins) == maxWarned {
			break
		}
		if other.Name == r.Name || other.Scope != r.Scope || other.Mode != Enforce || r.Mode != Enforce {
			continue
		}
		switch first, second := sorted(r, other); {
		case first.switchesOff(second):
			overrides = append(overrides, fmt.Sprintf(
				"in scope %s policy %s goes before %s, so ENDPOINT %s has no rule of its own for client %s: give %s a SCOPE of its own if it must always hold",
				r.ScopeName(), first.Name, second.Name, second.Endpoint, quote(first.Client), second.Name))
		case second == r && first.sameMatch(r):
			twins = append(twins, fmt.Sprintf("policy %s matches the same requests in scope %s and goes before it: it never applies", first.Name, r.ScopeName()))
		case second == other && r.sameMatch(other):
			twins = append(twins, fmt.Sprintf("policy %s matches the same requests in scope %s and comes after it: that one does not apply any more", other.Name, r.ScopeName()))
		}
	}
	return append(append(all, overrides...), twins...)
}

func sorted(a, b *Rule) (first, second *Rule) {
	if a.order < b.order {
		return a, b
	}
	return b, a
}

// switchesOff says whether r, a client's override that goes first, applies to
// requests of its client at all endpoints of other.
func (r *Rule) switchesOff(other *Rule) bool {
	return r.Client != "" && r.endpoint == nil && len(r.Attrs) == 0 &&
		other.endpoint != nil && (other.Client == "" || other.Client == r.Client) &&
		(r.Tier == "" || other.Tier == "" || r.Tier == other.Tier)
}

// sameMatch says whether both match the same requests.
func (r *Rule) sameMatch(other *Rule) bool {
	return r.Client == other.Client && r.Tier == other.Tier && r.Endpoint == other.Endpoint &&
		slices.Equal(r.Attrs, other.Attrs) && slices.Equal(r.Per, other.Per)
}
