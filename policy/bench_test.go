package policy

import (
	"fmt"
	"testing"

	"github.com/rlserver/rlserver/limit"
)

// benchView holds n policies: a tenth for endpoints and tiers, as an API may
// have, the rest overrides of single clients.
func benchView(tb testing.TB, n int) *View {
	tb.Helper()
	v := &View{}
	for i := range n {
		p := Policy{Name: fmt.Sprintf("policy-%07d", i), Limit: int64(i%100 + 1), Window: 1_000_000_000}
		switch {
		case i == 0:
			p.Tier = "gold"
		case i == 1:
			p.Endpoint = "GET /api/v1/products/*"
		case i == 2:
			p.Scope, p.Per = "global", []string{}
		case i < min(n/10, 10_000):
			p.Endpoint = fmt.Sprintf("GET /api/v1/resource-%d/*", i)
		default:
			p.Client = fmt.Sprintf("client-%d", i)
		}
		r, err := Compile(p, limit.DefaultBounds())
		if err != nil {
			tb.Fatal(err)
		}
		v = v.Set(r)
	}
	return v
}

// BenchmarkResolve asks for what most requests are: a client without a policy
// of its own, or (override) one that has one.
func BenchmarkResolve(b *testing.B) {
	for _, n := range []int{10, 10_000, 1_000_000} {
		v := benchView(b, n)
		picks := make([]Pick, 0, MaxScopes)
		b.Run(fmt.Sprintf("policies=%d", n), func(b *testing.B) {
			req := request("client=user:42", "tier=gold", "endpoint=GET /api/v1/products/7")
			b.ReportAllocs()
			for b.Loop() {
				picks = v.Resolve(req, picks[:0])
			}
		})
		b.Run(fmt.Sprintf("policies=%d/override", n), func(b *testing.B) {
			var all []*Request
			for i := range 1024 {
				all = append(all, request(fmt.Sprintf("client=client-%d", (i*7919)%n), "tier=gold", "endpoint=GET /api/v1/products/7"))
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				picks = v.Resolve(all[i%len(all)], picks[:0])
			}
		})
	}
}

func BenchmarkSet(b *testing.B) {
	for _, n := range []int{10, 10_000, 1_000_000} {
		v := benchView(b, n)
		b.Run(fmt.Sprintf("policies=%d", n), func(b *testing.B) {
			r := v.Get("policy-0000009")
			b.ReportAllocs()
			for b.Loop() {
				v = v.Set(r)
			}
		})
	}
}
