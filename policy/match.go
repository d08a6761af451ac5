package policy

import "strings"

// The attributes that requests have of themselves, as PER names them.
const (
	attrClient   = "client"
	attrTier     = "tier"
	attrEndpoint = "endpoint"
)

// attr returns the request's attribute of that name; false if it has none.
func (q *Request) attr(name string) (value []byte, has bool) {
	switch name {
	case attrClient:
		return q.Client, true
	case attrTier:
		return q.Tier, len(q.Tier) > 0
	case attrEndpoint:
		return withoutQuery(q.Endpoint), len(q.Endpoint) > 0
	}
	for i := range q.Attrs {
		if string(q.Attrs[i].Name) == name {
			return q.Attrs[i].Value, true
		}
	}
	return nil, false
}

// Lacks returns the first attribute that the rule counts by and the request
// does not have; empty if it has them all.
func (r *Rule) Lacks(req *Request) string {
	for _, name := range r.Per {
		if _, has := req.attr(name); !has {
			return name
		}
	}
	return ""
}

// matches says whether the rule applies to a request, of which method and path
// are the endpoint's.
func (r *Rule) matches(req *Request, method, path []byte) bool {
	if r.Client != "" && r.Client != string(req.Client) || r.Tier != "" && r.Tier != string(req.Tier) {
		return false
	}
	if p := r.endpoint; p != nil {
		if len(req.Endpoint) == 0 || p.method != "" && p.method != string(method) || !p.matchesPath(path) {
			return false
		}
	}
	for i := range r.Attrs {
		value, has := req.attr(r.Attrs[i].Name)
		if !has || !globMatches(r.Attrs[i].Pattern, value) {
			return false
		}
	}
	return r.Lacks(req) == ""
}

// isGlob says whether an attribute's pattern has a wildcard.
func isGlob(pattern string) bool { return strings.ContainsAny(pattern, "*?") }

// globMatches says whether value fits the pattern, in which * stands for any
// bytes and ? for one. After a mismatch only the last * is tried anew, which
// suffices, since an earlier one could not reach further.
func globMatches(pattern string, value []byte) bool {
	p, v := 0, 0
	star, from := -1, 0 // the last *, and where in value what follows it is tried
	for v < len(value) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, v
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == value[v]):
			p, v = p+1, v+1
		case star >= 0:
			from++
			p, v = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
