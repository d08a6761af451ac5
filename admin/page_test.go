package admin

import (
	"errors"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlserver/rlserver/limit"
)

// strangeKeys are what no page should stumble over.
func strangeKeys() []TopKey {
	return []TopKey{
		{"user:42", 900},
		{strings.Repeat("\xff", 512), 800},
		{"<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">", 700},
		{"line\nbreak\r\ttab \"quotes\" 'too' `and` \x00NUL\x01", 600},
		{"{tag}:a|b:c", 500},
		{"\u202egpj.exe ключ \u200b", 400},
		{`back\slash \n`, 300},
		{strings.Repeat("long-", 100), 200},
		{"{{.Node}}${alert(1)}</bdi></table>", 100},
		{"-->]]></style>&lt;", 1},
	}
}

func newRequest(path, host string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	r.Host = host
	return r
}

func render(t *testing.T, s *Server, path string) string {
	t.Helper()
	w := ask(s, newRequest(path, "localhost"), "127.0.0.1:5000", "127.0.0.1:8379")
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%s: status %d, %s", path, w.Code, w.Header().Get("Content-Type"))
	}
	return w.Body.String()
}

// TestKeysOnThePage: each list shows each key once, readable, and no byte of
// it is taken for HTML.
func TestKeysOnThePage(t *testing.T) {
	node := newFakeNode()
	node.set(func(n *fakeNode) { n.denied, n.asked = strangeKeys(), strangeKeys() })
	s := newServer(t, config(node))
	shown := regexp.MustCompile(`<bdi class="name"[^>]*>([^<]*)</bdi>`)
	for _, path := range []string{"/", "/live"} {
		page := render(t, s, path)
		var got, want []string
		for _, m := range shown.FindAllStringSubmatch(page, -1) {
			got = append(got, html.UnescapeString(m[1]))
		}
		for _, k := range append(strangeKeys(), strangeKeys()...) {
			want = append(want, readable(k.Key))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s shows\n%q, want\n%q", path, got, want)
		}
		for _, bad := range []string{"<script>d", "<img", "\x00", "\xff", "\u202e", "\u200b"} {
			if strings.Contains(page, bad) {
				t.Errorf("%s has %q", path, bad)
			}
		}
	}
	if page := render(t, s, "/live"); !strings.Contains(page, `<span class="bytes">512 bytes</span>`) {
		t.Error("the length of a binary key is not shown")
	}
}

// TestPageHasNoInlineCode: the policy that browsers are told would stop it.
func TestPageHasNoInlineCode(t *testing.T) {
	page := render(t, newServer(t, config(newFakeNode())), "/")
	for _, bad := range []string{"style=", "<style", "javascript:", " onload=", " onclick=", "http://", "https://"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if strings.Count(page, "<script") != 1 || !strings.Contains(page, `<script src="/page.js" defer></script>`) {
		t.Error("the page has another script than its own")
	}
	if !strings.Contains(page, `<noscript><meta http-equiv="refresh"`) {
		t.Error("without scripts it is never refreshed")
	}
}

func TestPageWords(t *testing.T) {
	node := newFakeNode()
	s := newServer(t, config(node))
	page := render(t, s, "/")
	for _, want := range []string{
		"<title>node-1 – rlserver</title>", ">ready</p>", "rlserver 1.2.3", "up 1m 0s",
		"<dd>12</dd>", "16,384", "1 MB", "0.1 % of 1 GB", "20 MB", "heap 5 MB", "of 10,000; 5 so far",
		`<th scope="row">token-bucket</th><td class="number">50</td><td class="number">20</td><td class="number">28.6</td>`,
		"None of late.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %s", want)
		}
	}
	for _, bad := range []string{"Look at", "leaky-bucket"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page says %s", bad)
		}
	}
	node.set(func(n *fakeNode) {
		n.ready = errors.New("draining <b>clients</b>")
		n.snapshot.Panics, n.snapshot.NoRoom, n.snapshot.EvictedNotFull, n.snapshot.AcceptErrors = 1, 2000, 3, 4
		n.snapshot.Refused = []Count{{"clients", 5}, {"per_addr", 6}, {"shutdown", 7}}
		n.snapshot.Decisions = [limit.AlgorithmCount]Outcomes{}
	})
	page = render(t, s, "/")
	for _, want := range []string{
		"not ready: draining &lt;b&gt;clients&lt;/b&gt;", "<h2 id=\"h-notices\">Look at</h2>",
		"<strong>1</strong> commands failed", "<strong>2,000</strong> decisions failed", "<strong>3</strong> keys were forgotten",
		"<strong>4</strong> connections could not", "<strong>5</strong> connections were refused: --max-clients",
		"<strong>6</strong> connections were refused: too many of one address", "No decision yet.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %s", want)
		}
	}
	if strings.Contains(page, "<strong>7</strong>") {
		t.Error("refused at the end is nothing to look at")
	}
}

// TestRatesOnThePage: the rates are those of the last seconds and the last
// minute, and the chart has a point a second.
func TestRatesOnThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := newFakeNode()
		cfg := config(node)
		begun := time.Now()
		cfg.Now = func() int64 { return start + time.Since(begun).Nanoseconds() }
		s := newServer(t, cfg)
		served := make(chan error, 1)
		go func() { served <- s.Serve(newPipeListener()) }()
		synctest.Wait()
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for second := range 90 {
			node.set(func(n *fakeNode) {
				d := &n.snapshot.Decisions[limit.TokenBucket]
				if d.Allowed += 75; second >= 30 {
					d.Denied += 25
				}
			})
			<-tick.C
			synctest.Wait()
		}
		v := s.view(nil)
		if v.PerSecond != "100" || v.DeniedPerSecond != "25.0" || v.DeniedPercent != "25" || v.LastMinute != "6,000" {
			t.Errorf("%s per second, %s denied, %s %% of %s", v.PerSecond, v.DeniedPerSecond, v.DeniedPercent, v.LastMinute)
		}
		if points := strings.Fields(v.Chart.All); len(points) != 62 || points[1] != "0.0,0.0" || points[60] != "600.0,0.0" {
			t.Errorf("%d points: %v", len(points), points)
		}
		if points := strings.Fields(v.Chart.Denied); points[1] != "0.0,90.0" {
			t.Errorf("denied: %v", points)
		}
		if v.Chart.Peak != "100" {
			t.Errorf("peak %s", v.Chart.Peak)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		stopped(t, served)
	})
}

func TestChart(t *testing.T) {
	if c := newChart(nil); c.All != "" || c.Peak != "0" {
		t.Errorf("of nothing: %+v", c)
	}
	if c := newChart(make([]perSecond, 60)); c.All != "" {
		t.Errorf("of zeros: %+v", c)
	}
	c := newChart([]perSecond{{allowed: 10}, {allowed: 10, denied: 10}})
	if want := "589.8,120.0 589.8,60.0 600.0,0.0 600.0,120.0"; c.All != want {
		t.Errorf("all: %s, want %s", c.All, want)
	}
	if want := "589.8,120.0 589.8,120.0 600.0,60.0 600.0,120.0"; c.Denied != want {
		t.Errorf("denied: %s, want %s", c.Denied, want)
	}
}

// TestHistoryIsBounded: it keeps a minute, and a clock that stands still or
// goes back makes no rate.
func TestHistoryIsBounded(t *testing.T) {
	var h history
	for i := range uint64(500) {
		h.add(sample{at: int64(i) * 1e9, decisions: Outcomes{Allowed: i}})
	}
	if len(h.samples) != samplesKept || h.samples[0].at != (500-samplesKept)*1e9 {
		t.Errorf("%d samples from %d on", len(h.samples), h.samples[0].at)
	}
	last := sample{at: 499e9, decisions: Outcomes{Allowed: 499}}
	if got := rates(last, last); got != (perSecond{}) {
		t.Errorf("no time: %+v", got)
	}
	if got := rates(sample{at: 500e9}, last); got != (perSecond{}) {
		t.Errorf("back: %+v", got)
	}
	var empty history
	if l := empty.lately(last); l.perSecond != 0 || len(l.seconds) != 0 {
		t.Errorf("of nothing: %+v", l)
	}
}
