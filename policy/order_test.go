package policy

import (
	"slices"
	"strings"
	"testing"
)

// ladder lists policies that all match ladderRequest, the most specific first.
// Each step of it is one criterion of the order.
func ladder() []string {
	return []string{
		// PRIORITY before all
		"p1 PRIORITY 2",
		"p2 PRIORITY 1",
		// CLIENT before ENDPOINT
		`c1 CLIENT c ENDPOINT "GET /a/b"`,
		`c2 CLIENT c ENDPOINT /a/b`,
		`c3 CLIENT c ENDPOINT "GET /a/*"`,
		`c4 CLIENT c TIER gold`,
		`c5 CLIENT c ATTR x 1`,
		`c6 CLIENT c`,
		// ENDPOINT exact, a method breaks the tie, then TIER
		`e1 ENDPOINT "GET /a/b" TIER gold`,
		`e2 ENDPOINT "GET /a/b"`,
		`e3 ENDPOINT /a/b TIER gold`,
		`e4 ENDPOINT /a/b`,
		// patterns, segment by segment
		`e5 ENDPOINT "GET /a/*"`,
		`e6 ENDPOINT /a/*`,
		`e6x ENDPOINT /a/*/**`,
		`e7 ENDPOINT "GET /a/**" TIER gold`,
		`e8 ENDPOINT "GET /a/**"`,
		`e9 ENDPOINT /a/**`,
		`f1 ENDPOINT /*/b`,
		`f2 ENDPOINT "GET /*/*"`,
		`f3 ENDPOINT /*/*`,
		`f4 ENDPOINT /*/*/**`,
		`f5 ENDPOINT /*/**`,
		`f6 ENDPOINT /**`,
		// TIER before ATTRs
		"t1 TIER gold ATTR x 1",
		"t2 TIER gold",
		// more exact ATTRs, then more by pattern
		"u1 ATTR x 1 ATTR y 2 ATTR z 3",
		"u2 ATTR x 1 ATTR y 2 ATTR z *",
		"u3 ATTR x 1 ATTR y 2",
		"u4 ATTR x 1 ATTR y * ATTR z *",
		"u5 ATTR x 1 ATTR y *",
		"u6 ATTR z 3",
		"u7 ATTR x * ATTR y * ATTR z ?",
		"u8 ATTR x ? ATTR z *",
		"u9 ATTR y *",
		// name ascending
		"v1",
		"v2",
		// PRIORITY again
		"a PRIORITY -1 CLIENT c",
	}
}

func ladderRequest() *Request {
	return request("client=c", "tier=gold", "endpoint=GET /a/b", "x=1", "y=2", "z=3")
}

// Of each two policies that match, the one higher on the ladder is picked,
// whichever was set first.
func TestSpecificityOfEachPair(t *testing.T) {
	steps := ladder()
	for i := range steps {
		for j := i + 1; j < len(steps); j++ {
			want, _, _ := strings.Cut(steps[i], " ")
			for _, pair := range [][]string{{steps[i], steps[j]}, {steps[j], steps[i]}} {
				if got := pick(viewOf(t, pair...), ladderRequest()); got != want {
					t.Errorf("of %q the pick is %q", pair, got)
				}
			}
		}
	}
}

// Taking away what is picked leaves the next.
func TestSpecificityOfAll(t *testing.T) {
	steps := ladder()
	v := viewOf(t, steps...)
	for _, step := range steps {
		want, _, _ := strings.Cut(step, " ")
		if got := pick(v, ladderRequest()); got != want {
			t.Fatalf("the pick is %q, want %q", got, want)
		}
		v = v.Delete(want)
	}
	if got := pick(v, ladderRequest()); got != "" || v.Len() != 0 {
		t.Errorf("of nothing the pick is %q", got)
	}
}

func TestWhatMatches(t *testing.T) {
	v := viewOf(t,
		`login ENDPOINT "POST /login"`, `products ENDPOINT "GET /products/*"`, `admin ENDPOINT /admin/**`,
		`gold TIER gold PER client,tier`, `app ATTR app web*`, `country PER country SCOPE s`, `one PER - SCOPE one`)
	for _, c := range []struct{ request, want string }{
		{"", "one"},
		{"endpoint=POST /login", "login one"},
		{"endpoint=POST /login?next=/", "login one"},
		{"endpoint=GET /login", "one"},
		{"endpoint=post /login", "one"},
		{"endpoint=/login", "one"},
		{"endpoint=POST /login/", "one"},
		{"endpoint=GET /products/7", "products one"},
		{"endpoint=GET /products/", "one"},
		{"endpoint=GET /products", "one"},
		{"endpoint=GET /products/7/x", "one"},
		{"endpoint=/admin", "admin one"},
		{"endpoint=DELETE /admin/", "admin one"},
		{"endpoint=DELETE /admin/a/b?c", "admin one"},
		{"endpoint=DELETE /administrators", "one"},
		{"endpoint=login", "one"},
		{"endpoint=?", "one"},
		{"endpoint= ", "one"},
		{"tier=gold", "gold one"},
		{"tier=", "one"},
		{"tier=golden", "one"},
		{"app=web", "app one"},
		{"app=website", "app one"},
		{"app=we", "one"},
		{"country=", "one country"},
	} {
		var pairs, got []string
		if c.request != "" {
			pairs = []string{c.request}
		}
		for _, p := range v.Resolve(request(pairs...), nil) {
			got = append(got, p.Rule.Name)
		}
		want := strings.Fields(c.want)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s meets %q, want %q", c.request, got, want)
		}
	}
}

func TestShadowAndOffNeverWin(t *testing.T) {
	v := viewOf(t, "live", "trial CLIENT c MODE shadow", "trial2 MODE shadow", "gone CLIENT c PRIORITY 9 MODE off", "alone SCOPE s MODE shadow", "off SCOPE u MODE off")
	picks := v.Resolve(request(), nil)
	if len(picks) != 2 || picks[0].Rule.Name != "live" || picks[0].Shadow.Name != "trial" ||
		picks[1].Scope != "s" || picks[1].Rule != nil || picks[1].Shadow.Name != "alone" {
		t.Errorf("%+v", picks)
	}
	picks = v.Resolve(request("client=d"), nil)
	if picks[0].Shadow.Name != "trial2" {
		t.Errorf("%+v", picks)
	}
}
