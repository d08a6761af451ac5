package policy

import (
	"slices"
	"testing"
)

func TestExplain(t *testing.T) {
	steps := ladder()
	for i := range steps[:len(steps)-1] {
		for _, e := range viewOf(t, steps[i], steps[i+1]).Explain(ladderRequest()) {
			if len(e.Candidates) != 2 || e.Candidates[0].Lost != "" || e.Candidates[1].Lost == "" || e.Why == "" {
				t.Errorf("%s before %s: %+v", steps[i], steps[i+1], e)
			}
		}
	}
	all := viewOf(t, `api ENDPOINT "GET /a/*"`, `any ENDPOINT /a/**`, "gold TIER gold", "trial MODE shadow", "gone MODE off", "alone SCOPE s MODE shadow", "none SCOPE t MODE off").
		Explain(ladderRequest())
	if len(all) != 2 {
		t.Fatalf("%d scopes: %+v", len(all), all)
	}
	want := []string{
		"api: ", "any: the ENDPOINT of api, GET /a/*, is more specific than /a/**", "gold: api names the ENDPOINT",
		"gone: MODE off", "trial: MODE shadow",
	}
	var got []string
	for _, c := range all[0].Candidates {
		got = append(got, c.Rule.Name+": "+c.Lost)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if why := all[0].Why; why != "before any: the ENDPOINT of api, GET /a/*, is more specific than /a/**" {
		t.Error(why)
	}
	if all[1].Rule != nil || all[1].Why != "only policies in shadow mode match" {
		t.Errorf("%+v", all[1])
	}
}

func TestWarnings(t *testing.T) {
	v := viewOf(t, `login ENDPOINT "POST /login"`, "gold TIER gold", "vip CLIENT v PRIORITY -1", "safe ENDPOINT /safe SCOPE own")
	for text, want := range map[string][]string{
		"acme CLIENT acme":                   {`in scope default policy acme goes before login, so ENDPOINT POST /login has no rule of its own for client "acme": give login a SCOPE of its own if it must always hold`},
		"acme CLIENT acme SCOPE other":       nil,
		"acme CLIENT acme ENDPOINT /x":       nil,
		"acme CLIENT acme MODE shadow":       nil,
		"acme CLIENT acme PRIORITY -5":       nil,
		"x ENDPOINT /x PRIORITY -2":          {`in scope default policy vip goes before x, so ENDPOINT /x has no rule of its own for client "v": give x a SCOPE of its own if it must always hold`},
		"silver TIER gold":                   {"policy gold matches the same requests in scope default and goes before it: it never applies"},
		"first TIER gold":                    {"policy gold matches the same requests in scope default and comes after it: that one does not apply any more"},
		"gold TIER gold":                     nil,
		"off MODE off":                       {"MODE off: it applies to no request"},
		"half ONLOSS empty":                  {"ONLOSS empty without ONERROR closed: requests that cannot be counted may pass, so it may still admit more than its limit"},
		"strict ONLOSS empty ONERROR closed": nil,
	} {
		if got := v.Warnings(mustRead(t, text+" LIMIT 1 WINDOW 1s")); !slices.Equal(got, want) {
			t.Errorf("%s: %q\nwant %q", text, got, want)
		}
	}
}
