package admin

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/policy"
)

// addPolicy sets a policy, 10 per second where it does not say.
func (f *fakePolicies) addPolicy(t *testing.T, p policy.Policy) {
	t.Helper()
	if p.Limit == 0 {
		p.Limit, p.Window = 10, 1e9
	}
	f.Set(&p, nil, func(_ uint64, err error) {
		if err != nil {
			t.Fatalf("policy %q: %v", p.Name, err)
		}
	})
}

// strangePolicies are more than the page lists, with names and rules that no
// page should stumble over.
func strangePolicies(t *testing.T) *fakePolicies {
	t.Helper()
	f := newFakePolicies()
	long := strings.Repeat("long-", 100)
	for _, p := range []policy.Policy{
		{Name: "<script>document.title='owned'</script>", Client: "<img src=x onerror=\"document.title='owned'\">"},
		{Name: "gold", Tier: "gold", Endpoint: "POST /v1/orders/**", Limit: 5000, Window: 60e9, Burst: 10_000, Per: []string{"client", "endpoint"}},
		{Name: "tried-out", Mode: policy.Shadow, Scope: "abuse", Priority: 7, Algorithm: limit.SlidingWindow},
		{Name: "switched off", Mode: policy.Off, Per: []string{}},
		{Name: long[:policy.MaxName], Client: long, Attrs: []policy.Attr{{Name: "region", Pattern: long}}},
	} {
		f.addPolicy(t, p)
	}
	for i := range 1020 {
		f.addPolicy(t, policy.Policy{Name: fmt.Sprint("zz-idle-", i), Client: fmt.Sprint(i)})
	}
	return f
}

// strangeCounts are what they answered, in no order; one of them is gone.
func strangeCounts() []PolicyCount {
	return []PolicyCount{
		{Name: strings.Repeat("long-", 100)[:policy.MaxName], Decisions: 3},
		{Name: "deleted", Decisions: 9_999_999, Denied: 9_999_999},
		{Name: "gold", Decisions: 12_345_678_901, Denied: 1_234_567},
		{Name: "tried-out", Shadowed: 3_000, ShadowDenied: 1_200},
		{Name: "<script>document.title='owned'</script>", Decisions: 2_000_000, Denied: 1_500_000},
	}
}

// strangeOrder is how the page lists them.
func strangeOrder() []string {
	order := []string{
		"<script>document.title='owned'</script>", "gold", "tried-out", strings.Repeat("long-", 100)[:policy.MaxName],
		"switched off",
	}
	var idle []string
	for i := range 1020 {
		idle = append(idle, fmt.Sprint("zz-idle-", i))
	}
	slices.Sort(idle)
	return append(order, idle[:policiesShown-len(order)]...)
}

// TestPoliciesOnThePage: those that matter most come first, and no byte of a
// name or a rule is taken for HTML.
func TestPoliciesOnThePage(t *testing.T) {
	node := newFakeNode()
	node.set(func(n *fakeNode) { n.policies = strangeCounts() })
	cfg := config(node)
	cfg.Policies = strangePolicies(t)
	page := render(t, newServer(t, cfg), "/live")
	_, section, _ := strings.Cut(page, `<h2 id="h-policies">`)
	section, _, _ = strings.Cut(section, "</section>")
	var names []string
	for _, m := range regexp.MustCompile(`<bdi class="name"[^>]*>([^<]*)</bdi>`).FindAllStringSubmatch(section, -1) {
		names = append(names, html.UnescapeString(m[1]))
	}
	if want := strangeOrder(); !slices.Equal(names, want) {
		t.Errorf("policies\n%q, want\n%q", names, want)
	}
	for _, want := range []string{
		`">12,345,678,901</td>`, `">1,234,567</td>`, `">1,200 of 3,000</td>`, `<span class="mode">shadow</span>`,
		`<span class="mode">off</span>`, "and 1,005 more",
	} {
		if !strings.Contains(section, want) {
			t.Errorf("the page does not say %s", want)
		}
	}
	for _, bad := range []string{"<script", "<img", "deleted"} {
		if strings.Contains(section, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
}

func TestNoPoliciesOnThePage(t *testing.T) {
	cfg := config(newFakeNode())
	if page := render(t, newServer(t, cfg), "/live"); strings.Contains(page, "h-policies") {
		t.Error("policies that are not served are listed")
	}
	cfg.Policies = newFakePolicies()
	if page := render(t, newServer(t, cfg), "/live"); !strings.Contains(page, "There is none.") || strings.Contains(page, " more</p>") {
		t.Error("the page does not say that there are none")
	}
}

func TestRuleWords(t *testing.T) {
	for _, test := range []struct {
		policy policy.Policy
		want   string
	}{
		{policy.Policy{Limit: 10, Window: 1e9}, "10 per 1s, token-bucket, each client"},
		{
			policy.Policy{
				Limit: 5000, Window: 90e9, Burst: 1, Per: []string{"client", "region"}, Tier: "gold", Endpoint: "GET /a/*",
				Attrs: []policy.Attr{{Name: "region", Pattern: "eu-*"}}, Scope: "paid", Priority: -3,
			},
			"5,000 per 90s, burst 1, token-bucket, each client and region; for tier gold, endpoint GET /a/*, region eu-*; scope paid; priority -3",
		},
		{policy.Policy{Limit: 1, Window: 3600e9, Algorithm: limit.SlidingLog, Per: []string{}, Client: "acme"}, "1 per 1h, sliding-log, all together; for client acme"},
	} {
		test.policy.Name = "p"
		rule, err := policy.Compile(test.policy, limit.DefaultBounds())
		if err != nil {
			t.Fatal(err)
		}
		if got := ruleWords(rule); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}
