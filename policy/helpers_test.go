package policy

import (
	"strings"
	"testing"

	"github.com/rlserver/rlserver/limit"
)

// read reads a policy as RL.POLICY.SET does: a name and words.
func read(text string) (*Rule, error) {
	fields := splitQuoted(text)
	p := Policy{Name: fields[0]}
	for i := 1; i < len(fields); {
		found := false
		for _, word := range Words() {
			if word.Name != fields[i] {
				continue
			}
			var values [][]byte
			for _, v := range fields[i+1 : i+1+word.Values] {
				values = append(values, []byte(v))
			}
			if err := word.Set(&p, values); err != nil {
				return nil, err
			}
			i += 1 + word.Values
			found = true
			break
		}
		if !found {
			return nil, wrong(fields[i], "is no word")
		}
	}
	return Compile(p, limit.DefaultBounds())
}

// splitQuoted splits at spaces that are not between quotes.
func splitQuoted(text string) []string {
	var all []string
	for i, part := range strings.Split(text, `"`) {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}

func mustRead(tb testing.TB, text string) *Rule {
	tb.Helper()
	r, err := read(text)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return r
}

// viewOf reads policies; each gets the LIMIT and WINDOW that it lacks.
func viewOf(tb testing.TB, texts ...string) *View {
	tb.Helper()
	v := &View{}
	for i, text := range texts {
		v = v.Set(mustRead(tb, text+" LIMIT 10 WINDOW 1m").WithVersion(uint64(i + 1)))
	}
	return v
}

// request builds a request of name=value pairs; those that are no attribute of
// their own are ATTRs.
func request(pairs ...string) *Request {
	req := &Request{Client: []byte("c")}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		switch name {
		case attrClient:
			req.Client = []byte(value)
		case attrTier:
			req.Tier = []byte(value)
		case attrEndpoint:
			req.Endpoint = []byte(value)
		default:
			req.Attrs = append(req.Attrs, RequestAttr{[]byte(name), []byte(value)})
		}
	}
	return req
}

// pick is the name of what decides in the default scope.
func pick(v *View, req *Request) string {
	for _, p := range v.Resolve(req, nil) {
		if p.Scope == DefaultScope && p.Rule != nil {
			return p.Rule.Name
		}
	}
	return ""
}
