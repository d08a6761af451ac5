package policy

import "encoding/binary"

// How specific a part of a policy is: the smaller, the more.
const (
	named   = 0
	unnamed = 1

	exactEndpoint   = 0
	patternEndpoint = 1
	noEndpoint      = 2

	literalRank = 0
	oneRank     = 1
	endRank     = 2
	anyRank     = 3
)

// specificity returns a text that is smaller than another policy's if and only
// if this one goes first where both match: PRIORITY, higher first; CLIENT
// named; ENDPOINT exact, then pattern, then none, patterns segment by segment
// (literal, *, end, **) and then a named method; TIER named; more ATTRs exact;
// more ATTRs by pattern; name ascending. The order does not depend on the
// request, so policies can be sorted by it beforehand.
func (r *Rule) specificity() string {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 16+len(r.Name)), uint32(MaxPriority-r.Priority)) // 0..2e9
	b = append(b, rank(r.Client != ""))
	b = append(b, r.endpoint.ranks()...)
	exact := r.exactAttrs()
	b = append(b, rank(r.Tier != ""), byte(MaxAttrs-exact), byte(MaxAttrs-(len(r.Attrs)-exact)))
	return string(append(b, r.Name...))
}

// exactAttrs counts the attributes without a wildcard.
func (r *Rule) exactAttrs() int {
	n := 0
	for _, attr := range r.Attrs {
		if !isGlob(attr.Pattern) {
			n++
		}
	}
	return n
}

func rank(isNamed bool) byte {
	if isNamed {
		return named
	}
	return unnamed
}

// ranks are the endpoint's part of an order. They end where the segments do,
// so that orders stay comparable whatever follows.
func (p *pattern) ranks() []byte {
	switch {
	case p == nil:
		return []byte{noEndpoint}
	case p.exact():
		return []byte{exactEndpoint, rank(p.method != "")}
	}
	b := []byte{patternEndpoint}
	for _, segment := range p.segments {
		switch segment {
		case anySegments:
			b = append(b, anyRank)
		case oneSegment:
			b = append(b, oneRank)
		default:
			b = append(b, literalRank)
		}
	}
	if b[len(b)-1] != anyRank {
		b = append(b, endRank)
	}
	return append(b, rank(p.method != ""))
}
