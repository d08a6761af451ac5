package admin

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlserver/rlserver/limit"
)

// busyNode has something to show in every place of the page.
func busyNode() *fakeNode {
	node := newFakeNode()
	node.set(func(n *fakeNode) {
		n.denied, n.asked = strangeKeys(), strangeKeys()
		n.snapshot.EvictedNotFull = 17
		n.snapshot.Cluster = threeNodes()
		n.policies = strangeCounts()
		n.snapshot.Decisions[limit.SlidingWindow] = Outcomes{Allowed: 123_456_789, Denied: 1_234}
	})
	return node
}

// busyConfig serves it with policies.
func busyConfig(t *testing.T, node *fakeNode) Config {
	t.Helper()
	cfg := config(node)
	cfg.Policies = strangePolicies(t)
	return cfg
}

// TestPageInBrowser looks at the page in each shape that it may take. With
// -artifacts the pictures are kept.
func TestPageInBrowser(t *testing.T) {
	b := startBrowser(t)
	node := busyNode()
	cfg := busyConfig(t, node)
	looks := int64(0)
	cfg.Now = func() (now int64) { // each look is a second later, and 1,500 decisions
		node.set(func(n *fakeNode) {
			looks++
			now = start + looks*1e9
			d := &n.snapshot.Decisions[limit.TokenBucket]
			d.Allowed += uint64(1000 + 10*(looks%40))
			d.Denied += uint64(500 - 10*(looks%30))
		})
		return now
	}
	s := newServer(t, cfg)
	for range samplesKept {
		now := cfg.Now()
		snapshot := node.Snapshot()
		s.history.add(sampleOf(&snapshot, now))
	}
	url := serveServer(t, s)
	var want []string
	for _, k := range append(strangeKeys(), strangeKeys()...) {
		want = append(want, readable(k.Key))
	}
	for _, width := range []int{1280, 390} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(fmt.Sprintf("%s %d", scheme, width), func(t *testing.T) {
				p := b.newTab(t, width, scheme)
				p.open(url + "/")
				var got []string
				p.eval(&got, `[...document.querySelectorAll(".keys .name")].map(e => e.textContent)`)
				if !slices.Equal(got, want) {
					t.Errorf("keys\n%q, want\n%q", got, want)
				}
				p.eval(&got, `[...document.querySelectorAll(".policies .name")].map(e => e.textContent)`)
				if want := strangeOrder(); !slices.Equal(got, want) {
					t.Errorf("policies\n%q, want\n%q", got, want)
				}
				p.eval(&got, `[...document.querySelectorAll(".members .node")].map(e => e.textContent)`)
				if want := []string{"node-1", "node-2", "<script>node</script>"}; !slices.Equal(got, want) {
					t.Errorf("members %q, want %q", got, want)
				}
				var title string
				if p.eval(&title, `document.title`); title != "node-1 – rlserver" {
					t.Errorf("title %q", title)
				}
				var wider []string
				p.eval(&wider, `[...document.querySelectorAll("body *")]
					.filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))`)
				var overflow int
				p.eval(&overflow, `document.documentElement.scrollWidth - innerWidth`)
				if len(wider) > 0 || overflow > 0 {
					t.Errorf("wider than %d: by %d; %q", width, overflow, wider)
				}
				var faint []string
				if p.eval(&faint, faintText); len(faint) > 0 {
					t.Errorf("too little contrast: %q", faint)
				}
				p.screenshot(fmt.Sprintf("page-%s-%d.png", scheme, width), width)
				p.noComplaints()
			})
		}
	}
}

// faintText lists elements whose text has less contrast than WCAG AA asks of
// small text, 4.5 to 1.
const faintText = `(() => {
	const rgb = s => s.match(/[\d.]+/g).map(Number);
	const light = c => { const [r, g, b] = rgb(c).map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const back = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (rgb(c)[3] !== 0) return c; } return "rgb(255,255,255)"; };
	return [...document.querySelectorAll("body *")]
		.filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) && e.offsetParent)
		.map(e => { const a = light(getComputedStyle(e).color), b = light(back(e)); return [e.outerHTML.slice(0, 60), (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)]; })
		.filter(([, ratio]) => ratio < 4.5).map(([e, ratio]) => e + " " + ratio.toFixed(2));
})()`

// TestPageStaysLive: the numbers change without a reload, and when the server
// goes the page says that they are old.
func TestPageStaysLive(t *testing.T) {
	b := startBrowser(t)
	node := busyNode()
	ln := listen(t)
	s := newServer(t, busyConfig(t, node))
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	p := b.newTab(t, 1280, "light")
	p.open("http://" + ln.Addr().String() + "/")
	var ok bool
	p.eval(&ok, `window.mark = true`)
	node.set(func(n *fakeNode) {
		n.snapshot.Keys = 987_654
		n.denied = []TopKey{{"<i>new</i>", 5}}
		n.policies = append(n.policies, PolicyCount{Name: "zz-idle-0", Decisions: 7_777_777, Denied: 7_777_776})
		n.snapshot.Cluster.Members[1].Alive = false
	})
	p.until(`document.body.textContent.includes("987,654") && document.querySelector(".name").textContent === "<i>new</i>"`)
	p.until(`document.querySelector(".policies tbody tr").textContent.includes("7,777,776")`)
	p.until(`document.querySelectorAll(".members .bad").length === 2`)
	if p.eval(&ok, `window.mark === true && document.getElementById("stale").hidden`); !ok {
		t.Error("the page was loaded anew, or says that it is stale")
	}
	p.noComplaints()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	stopped(t, served)
	p.until(`!document.getElementById("stale").hidden && document.getElementById("stale").textContent.startsWith("Not up to date since")`)
}

// TestPageWithoutScripts: it is loaded anew by itself.
func TestPageWithoutScripts(t *testing.T) {
	b := startBrowser(t)
	url := serve(t, busyConfig(t, busyNode()))
	p := b.newTab(t, 1280, "light")
	p.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	p.open(url + "/")
	p.wait("Page.loadEventFired", nil)
}

// TestForeignNames: a name that a foreign page made point here gets nothing
// from the server, whatever it asks for.
func TestForeignNames(t *testing.T) {
	b := startBrowser(t)
	url := serve(t, busyConfig(t, busyNode()))
	_, port, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
	p := b.newTab(t, 1280, "light")
	for _, path := range []string{"/", "/metrics", "/live"} {
		p.open("http://rebound.test:" + port + path)
		var text string
		if p.eval(&text, `document.body.innerText`); !strings.HasPrefix(text, `host "rebound.test:`+port+`" is not one of`) {
			t.Errorf("%s shows %.100q", path, text)
		}
	}
}

// tab is one page of a browser.
type tab struct {
	*browser
	t       *testing.T
	session string
}

// newTab opens a tab of a size and a colour scheme.
func (b *browser) newTab(t *testing.T, width int, scheme string) *tab {
	t.Helper()
	p := &tab{browser: b, t: t}
	var target struct{ TargetID string }
	p.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	p.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		p.call(domain+".enable", nil, nil)
	}
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	p.call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	return p
}

// call sends a command and waits for its result.
func (p *tab) call(method string, params, result any) {
	p.t.Helper()
	if err := p.send(p.session, method, params, result); err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
}

// open loads a page and waits for it.
func (p *tab) open(url string) {
	p.t.Helper()
	var went struct{ ErrorText string }
	p.call("Page.navigate", map[string]any{"url": url}, &went)
	if went.ErrorText != "" {
		p.t.Fatalf("%s: %s", url, went.ErrorText)
	}
	p.wait("Page.loadEventFired", nil)
}

// wait waits for an event of this tab.
func (p *tab) wait(method string, params any) {
	p.t.Helper()
	if err := p.event(p.session, method, params); err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
}

// eval stores what an expression, or the promise that it is, yields.
func (p *tab) eval(result any, expression string) {
	p.t.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Exception struct{ Description string }
		}
	}
	p.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &answer)
	if answer.ExceptionDetails != nil {
		p.t.Fatalf("%s: %s", expression, answer.ExceptionDetails.Exception.Description)
	}
	if err := json.Unmarshal(answer.Result.Value, result); err != nil {
		p.t.Fatalf("%s is %s: %v", expression, answer.Result.Value, err)
	}
}

// until waits for a condition to hold in the page, for 15 seconds.
func (p *tab) until(condition string) {
	p.t.Helper()
	var held bool
	p.eval(&held, `new Promise(done => {
		const end = performance.now() + 15000;
		(function look() {
			if (`+condition+`) done(true);
			else if (performance.now() > end) done(false);
			else setTimeout(look, 50);
		})();
	})`)
	if !held {
		var body string
		p.eval(&body, `document.body.innerText`)
		p.t.Fatalf("never: %s; the page shows\n%s", condition, body)
	}
}

// screenshot takes a picture of the whole page, and keeps it with -artifacts.
func (p *tab) screenshot(name string, width int) {
	p.t.Helper()
	var shot struct{ Data string }
	p.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &shot)
	picture, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	size, err := png.DecodeConfig(bytes.NewReader(picture))
	const scrollbar = 15
	if err != nil || size.Width > width || size.Width < width-scrollbar {
		p.t.Errorf("a picture of %d x %d, %v", size.Width, size.Height, err)
	}
	if err := os.WriteFile(filepath.Join(p.t.ArtifactDir(), name), picture, 0o600); err != nil {
		p.t.Error(err)
	}
}

// noComplaints fails the test if the page threw, or did what its policy or the
// browser forbids.
func (p *tab) noComplaints() {
	p.t.Helper()
	for _, complaint := range p.complaints(p.session) {
		p.t.Errorf("the browser complains: %s", complaint)
	}
}
