package policy

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/limit"
)

const document = `
policies:
  - name: login
    limit: 5
    window: 1m
    endpoint: POST /login
    attr: {country: ch, app: web*}
    per: [client, country]
    scope: login
    priority: -3
    on_error: fail_closed
    on_loss: empty
    force: true
    mode: shadow
    version: 7
  - {name: free, limit: 100, window: 60, burst: 20, algo: leaky-bucket, per: "-", on_error: fail_open, force: false}
`

func TestReadSet(t *testing.T) {
	set, err := ReadSet(strings.NewReader(document), limit.DefaultBounds())
	if err != nil || len(set) != 2 {
		t.Fatal(set, err)
	}
	want := []string{
		"+ free  LIMIT 100 WINDOW 1m BURST 20 ALGO leaky-bucket PER - ONERROR local",
		`+ login  LIMIT 5 WINDOW 1m ENDPOINT "POST /login" ATTR app web* ATTR country ch PER client,country SCOPE login PRIORITY -3 ONERROR closed ONLOSS empty FORCE MODE shadow`,
	}
	for i, c := range (&View{}).Diff(set, false) {
		if c.String() != want[i] {
			t.Errorf("%s\nwant %s", c, want[i])
		}
	}
	if set, err := ReadSet(strings.NewReader("policies:\n"), limit.DefaultBounds()); err != nil || len(set) != 0 {
		t.Errorf("an empty set: %v, %v", set, err)
	}
}

func TestDocumentMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "the document is empty",
		"policy: []":                          `must be a mapping with one field, policies, a list; got "policy"`,
		"policies: 5":                         "must be a mapping with one field, policies, a list",
		"[]":                                  "must be a mapping with one field, policies, a list",
		"policies: []\n---\na: 1":             "the document has more than one part",
		"policies: [1]":                       "policies[0] (line 1): a policy must be a mapping of its fields",
		"policies:\n- {name: a}":              "policies[0] (line 2): LIMIT must be between",
		"policies:\n- {limit: 1, window: 1s}": "name must be 1 to 128 bytes, got 0",
		"policies:\n- {name: a, limit: 1, window: 1s, limmit: 2}":                         `"limmit" is no field of a policy; there are name, limit, window, burst, algo,`,
		"policies:\n- {name: a, limit: 1.5, window: 1s}":                                  `limit must be an integer between 1 and 1000000000000, got "1.5"`,
		"policies:\n- {name: a, limit: [1], window: 1s}":                                  "limit must be one value",
		"policies:\n- {name: a, limit: 1, limit: 2, window: 1s}":                          "limit is given twice",
		"policies:\n- {name: a, limit: 1, window: 1s, force: maybe}":                      `force must be true or false, got "maybe"`,
		"policies:\n- {name: a, limit: 1, window: 1s, attr: x}":                           "must be a mapping of names and patterns",
		"policies:\n- {name: a, limit: 1, window: 1s}\n- {name: a, limit: 1, window: 1s}": `policies[1] (line 3): policy "a" is in the document twice`,
		`{"policies": [{"name": "a", "limit": 1, "window": "1s", "on_error": "never"}]}`:  `policies[0]: on_error must be one of open, closed, local, error, got "never"`,
		`{"policies": [{"name": "a", "limit": 1, "window": "1s", "client": null}]}`:       "must be one value",
		"policies: [{name: a, limit: 1, window: 1s, client: *x}]":                         "unknown anchor",
	} {
		_, err := ReadSet(strings.NewReader(text), limit.DefaultBounds())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
}

func TestReadOne(t *testing.T) {
	r, err := ReadOne([]byte(`{"limit": 100, "window": "1s", "burst": 50, "on_error": "fail_open"}`), "client:acme", limit.DefaultBounds())
	if err != nil || r.Name != "client:acme" || r.Burst != 50 || r.OnError != OnErrorLocal {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := ReadOne([]byte(`{"name": "b", "limit": 100, "window": "1s"}`), "a", limit.DefaultBounds()); err == nil || err.Error() != `name must be "a", got "b"` {
		t.Error(err)
	}
}

// What is written, in either form, is read as the same.
func TestDocumentsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := &View{}
		for range rapid.IntRange(0, 5).Draw(t, "policies") {
			p := drawPolicy(t)
			p.Name += rapid.SampledFrom([]string{"", ": x", "'\"", " #", "ä{}", "- 1", "<i>&"}).Draw(t, "tail")
			p.Client = rapid.SampledFrom([]string{"", "5", "true", "null", "~", "a: b", "x\\y"}).Draw(t, "odd")
			r, err := Compile(p, limit.DefaultBounds())
			if err != nil {
				t.Fatal(err)
			}
			v = v.Set(r.WithVersion(9))
		}
		var set []*Rule
		for r := range v.From("") {
			set = append(set, r)
		}
		var asYAML, asJSON bytes.Buffer
		if err := WriteYAML(&asYAML, set); err != nil {
			t.Fatal(err)
		}
		if err := WriteJSON(&asJSON, set); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{asYAML.String(), asJSON.String()} {
			again, err := ReadSet(strings.NewReader(text), limit.DefaultBounds())
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			if changes := v.Diff(again, false); len(changes) != 0 {
				t.Fatalf("%v in\n%s", changes, text)
			}
		}
	})
}

func TestDiff(t *testing.T) {
	v := viewOf(t, "a TIER x", "b", "c ATTR k 1", "same")
	var set []*Rule
	for _, text := range []string{"a LIMIT 20", "c LIMIT 10 ATTR k 2 ATTR l 3 BURST 5", "new LIMIT 1", "same LIMIT 10"} {
		set = append(set, mustRead(t, text+" WINDOW 1m"))
	}
	want := []string{
		"~ a  LIMIT 10 -> 20, no TIER x", "- b  LIMIT 10 WINDOW 1m",
		"~ c  BURST 5, ATTR k 1 -> ATTR k 2 ATTR l 3", "+ new  LIMIT 1 WINDOW 1m",
	}
	if got := fmt.Sprint(v.Diff(set, false)); got != fmt.Sprint(want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := v.Diff(set, true); len(got) != 3 {
		t.Errorf("with keep: %v", got)
	}
}

// Whatever a document says, it is read or refused.
func FuzzReadSet(f *testing.F) {
	f.Add([]byte(document))
	f.Add([]byte(`{"policies": [{"name": "a", "limit": 1, "window": "1s", "attr": {"k": "v"}}]}`))
	f.Add([]byte("policies: &a [*a]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		set, err := ReadSet(bytes.NewReader(text), limit.DefaultBounds())
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := WriteJSON(&out, set); err != nil {
			t.Fatal(err)
		}
		again, err := ReadSet(&out, limit.DefaultBounds())
		if err != nil || len(again) != len(set) {
			t.Fatalf("%q was read, but not what was written: %v", text, err)
		}
	})
}
