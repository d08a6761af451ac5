package policy

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/limit"
)

// Each mistake names the word and what is allowed.
func TestMistakes(t *testing.T) {
	long := strings.Repeat("x", 600)
	for text, want := range map[string]string{
		"p WINDOW 1s":                                              "LIMIT must be between 1 and 1000000000000, got 0",
		"p LIMIT 5":                                                "WINDOW must be between 1ms and 366d, got 0 ns",
		"p LIMIT 0 WINDOW 1s":                                      `LIMIT must be an integer between 1 and 1000000000000, got "0"`,
		"p LIMIT 1.5 WINDOW 1s":                                    `LIMIT must be an integer between 1 and 1000000000000, got "1.5"`,
		"p LIMIT 1 WINDOW 1y":                                      `WINDOW must be 1ms to 366d, a whole number and a unit (1500ms, 1s, 5m, 1h, 1d) or of seconds, got "1y"`,
		"p LIMIT 1 WINDOW 1s BURST -1":                             `BURST must be an integer between 0 and 1000000000000, got "-1"`,
		"p LIMIT 5 WINDOW 1s BURST 9 ALGO sliding-log":             "BURST must be the limit, 5, or be left out with sliding-log, got 9",
		"p LIMIT 100001 WINDOW 1s ALGO sliding-log":                "LIMIT must be at most 100000 with sliding-log, got 100001: use sliding-window instead",
		"p LIMIT 1 WINDOW 1s ALGO fast":                            `ALGO must be one of token-bucket, leaky-bucket, sliding-log, sliding-window, fixed-window, got "fast"`,
		`p LIMIT 1 WINDOW 1s CLIENT ""`:                            "CLIENT must not be empty; leave the word out instead",
		"p LIMIT 1 WINDOW 1s CLIENT " + long:                       "CLIENT must be 0 to 512 bytes, got 600",
		"p LIMIT 1 WINDOW 1s TIER \xff":                            `TIER must be UTF-8 text, got "\xff"`,
		"p LIMIT 1 WINDOW 1s SCOPE a\x01":                          `SCOPE must have no character that is not printed, got "a\x01"`,
		"p LIMIT 1 WINDOW 1s ENDPOINT login":                       `ENDPOINT must have a path that begins with / and has no spaces, ? or #; got "login"`,
		`p LIMIT 1 WINDOW 1s ENDPOINT "get /x"`:                    `ENDPOINT must be a path, or a method in capitals and a path with one space between; got "get /x"`,
		`p LIMIT 1 WINDOW 1s ENDPOINT "GET  /x"`:                   `ENDPOINT must have a path that begins with / and has no spaces, ? or #; got "GET  /x"`,
		"p LIMIT 1 WINDOW 1s ENDPOINT /a*":                         `ENDPOINT may have * only as a whole segment, as in /a/*/b; got "/a*"`,
		"p LIMIT 1 WINDOW 1s ENDPOINT /**/b":                       `ENDPOINT may have ** only as the last segment; got "/**/b"`,
		"p LIMIT 1 WINDOW 1s ENDPOINT /a?b":                        `ENDPOINT must have a path that begins with / and has no spaces, ? or #; got "/a?b"`,
		"p LIMIT 1 WINDOW 1s ENDPOINT " + strings.Repeat("/a", 33): "ENDPOINT must have at most 32 segments, got 33",
		"p LIMIT 1 WINDOW 1s ATTR tier gold":                       "ATTR tier has a word of its own, TIER",
		"p LIMIT 1 WINDOW 1s ATTR a,b x":                           `ATTR names are 1 to 64 letters, digits, - _ and ., a letter or digit first; got "a,b"`,
		"p LIMIT 1 WINDOW 1s ATTR a x ATTR a y":                    `ATTR "a" is given twice`,
		`p LIMIT 1 WINDOW 1s ATTR a ""`:                            "ATTR a must be 1 to 512 bytes, got 0",
		"p LIMIT 1 WINDOW 1s PER client,client":                    "PER names client twice",
		"p LIMIT 1 WINDOW 1s PER client,":                          `PER names are 1 to 64 letters, digits, - _ and ., a letter or digit first; got ""`,
		"p LIMIT 1 WINDOW 1s PRIORITY 1000000001":                  `PRIORITY must be an integer between -1000000000 and 1000000000, got "1000000001"`,
		"p LIMIT 1 WINDOW 1s ONERROR maybe":                        `ONERROR must be one of open, closed, local, error, got "maybe"`,
		"p LIMIT 1 WINDOW 1s ONLOSS full":                          `ONLOSS must be one of keep, empty, got "full"`,
		"p LIMIT 1 WINDOW 1s MODE on":                              `MODE must be one of enforce, shadow, off, got "on"`,
		"p LIMIT 1 WINDOW 61m ONLOSS empty":                        "ONLOSS empty would deny for up to 61m after a loss, more than an hour: add FORCE if that is meant, or use ONLOSS keep",
		"p LIMIT 1 WINDOW 1h BURST 2 ONLOSS empty":                 "ONLOSS empty would deny for up to 2h after a loss, more than an hour: add FORCE if that is meant, or use ONLOSS keep",
		`"" LIMIT 1 WINDOW 1s`:                                     "name must be 1 to 128 bytes, got 0",
		long + " LIMIT 1 WINDOW 1s":                                "name must be 1 to 128 bytes, got 600",
	} {
		if _, err := read(text); err == nil || err.Error() != want {
			t.Errorf("%.60s: %v\nwant %s", text, err, want)
		}
	}
	for _, text := range []string{
		"p LIMIT 1 WINDOW 1h ONLOSS empty", "p LIMIT 1 WINDOW 10h ONLOSS empty FORCE", "p LIMIT 5 WINDOW 1s BURST 5 ALGO sliding-log",
		"p LIMIT 1 WINDOW 1s ENDPOINT /", "p LIMIT 1 WINDOW 1s ENDPOINT /** PER endpoint,x.y-z_0", `"ä b" LIMIT 1 WINDOW 1 CLIENT "a b|{x}:<i>"`,
	} {
		if _, err := read(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What a policy is written as reads as the same policy.
func TestWordsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		p.Burst = rapid.SampledFrom([]int64{0, 7}).Draw(t, "burst")
		p.Algorithm = rapid.SampledFrom([]limit.Algorithm{limit.TokenBucket, limit.LeakyBucket}).Draw(t, "algo")
		p.OnError = OnError(rapid.IntRange(0, 4).Draw(t, "onerror"))
		p.OnLoss = OnLoss(rapid.IntRange(0, 1).Draw(t, "onloss"))
		p.Force = rapid.Bool().Draw(t, "force")
		p.Window = rapid.Int64Range(1, 10_000).Draw(t, "window") * limit.MinWindow
		want, err := Compile(p, limit.DefaultBounds())
		if err != nil {
			t.Fatal(err)
		}
		got := Policy{Name: p.Name}
		for _, word := range Words() {
			for _, values := range word.Get(&want.Policy) {
				raw := make([][]byte, len(values))
				for i, value := range values {
					raw[i] = []byte(value)
				}
				if len(raw) != word.Values {
					t.Fatalf("%s has %d values, wrote %d", word.Name, word.Values, len(raw))
				}
				if err := word.Set(&got, raw); err != nil {
					t.Fatal(err)
				}
			}
		}
		again, err := Compile(got, limit.DefaultBounds())
		if err != nil || !again.Equal(&want.Policy) || again.order != want.order || again.identity != want.identity {
			t.Fatalf("wrote %+v, read %+v: %v", want.Policy, got, err)
		}
	})
}

// Different ways to say the same are the same.
func TestOneForm(t *testing.T) {
	a := mustRead(t, "p LIMIT 1 WINDOW 60 ATTR b 1 ATTR a 2 PER client SCOPE default ALGO token-bucket ONLOSS keep MODE enforce PRIORITY 0 BURST 0")
	b := mustRead(t, "p LIMIT 1 WINDOW 1m ATTR a 2 ATTR b 1")
	if !a.Equal(&b.Policy) || a.WithVersion(3).Version != 3 || a.Version != 0 {
		t.Errorf("%+v\n%+v", a.Policy, b.Policy)
	}
	if c := mustRead(t, "p LIMIT 1 WINDOW 1m ATTR a 2 ATTR b 1 PER -"); c.Equal(&b.Policy) {
		t.Error("PER - is as PER client")
	}
}

// Buckets differ exactly if the policy, what it counts by, or a value differs.
func TestIdentities(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{"p", "p PER tier", "p PER client,tier", "p PER tier,client", "p PER -", "p PER endpoint", "p PER ab", "pp"} {
		r := mustRead(t, text+" LIMIT 1 WINDOW 1s")
		for _, pairs := range [][]string{
			{"client=a", "tier=bc", "ab=x", "endpoint=/a"},
			{"client=ab", "tier=c", "ab=", "endpoint=/a/b"},
			{"client=bc", "tier=a", "ab=\x00", "endpoint=GET /a"},
			{"client=\x01a", "tier=\x02a", "ab=\x01x", "endpoint=/"},
		} {
			req := request(pairs...)
			id := string(r.Bucket(nil, req))
			about := text + " " + strings.Join(pairs, " ")
			if before, doubled := seen[id]; doubled && (text != "p PER -" || !strings.HasPrefix(before, text)) {
				t.Errorf("%q and %q share a bucket", before, about)
			}
			seen[id] = about
		}
	}
	r := mustRead(t, "p PER endpoint LIMIT 1 WINDOW 1s")
	if a, b := r.Bucket(nil, request("endpoint=GET /a?x=1")), r.Bucket(nil, request("endpoint=GET /a?x=2")); string(a) != string(b) {
		t.Error("a query makes a bucket of its own")
	}
	for text, want := range map[string]string{
		"p": "c", "p PER client,tier": "c", "p PER tier": "gold", "p PER -": "p", "p PER tier,k": "goldv", "p PER endpoint,tier": "/xgold",
	} {
		if got := mustRead(t, text+" LIMIT 1 WINDOW 1s").Home(nil, request("tier=gold", "k=v", "endpoint=/x?y")); string(got) != want {
			t.Errorf("%s lives at %q, want %q", text, got, want)
		}
	}
}

func TestTightest(t *testing.T) {
	allowed := func(scope string, remaining, limit_ int64) Answer {
		return Answer{scope, limit.Decision{Allowed: 1, Remaining: remaining, Limit: limit_}}
	}
	denied := func(scope string, wait int64) Answer { return Answer{scope, limit.Decision{WaitMS: wait, Limit: 1}} }
	for _, c := range []struct {
		answers []Answer
		want    string
	}{
		{[]Answer{allowed("a", 1, 2)}, "a"},
		{[]Answer{allowed("a", 1, 2), allowed("b", 99, 200)}, "b"},
		{[]Answer{allowed("b", 1, 2), allowed("a", 100, 200)}, "a"},
		{[]Answer{allowed("a", 0, 1), denied("b", 1)}, "b"},
		{[]Answer{denied("a", 5), allowed("b", 0, 1), denied("c", 6)}, "c"},
		{[]Answer{denied("a", 1e9), denied("b", -1)}, "b"},
		{[]Answer{denied("b", -1), denied("a", -1)}, "a"},
		{[]Answer{allowed("a", 999_999_999_999, 1_000_000_000_000), allowed("b", 999_999_999_998, 999_999_999_999)}, "b"},
	} {
		if got := Tightest(c.answers); c.answers[got].Scope != c.want {
			t.Errorf("of %+v %d is the tightest, want %s", c.answers, got, c.want)
		}
	}
	if Tightest(nil) != -1 {
		t.Error("of nothing something is the tightest")
	}
}

func TestStrict(t *testing.T) {
	for text, want := range map[string]bool{"p ONERROR closed ONLOSS empty": true, "p ONERROR closed": false, "p ONLOSS empty": false} {
		if got := mustRead(t, text+" LIMIT 1 WINDOW 1s").Strict(); got != want {
			t.Errorf("%s: strict is %v", text, got)
		}
	}
}

// The quick matcher agrees with the one that tries everything.
func TestGlob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*?]{0,8}`).Draw(t, "pattern")
		value := rapid.StringMatching(`[ab]{0,8}`).Draw(t, "value")
		if got, want := globMatches(pattern, []byte(value)), naiveGlob(pattern, value); got != want {
			t.Fatalf("%q fits %q: %v, want %v", value, pattern, got, want)
		}
	})
}
