package admin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/rlserver/rlserver/limit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start is when the fake node started, and its clock's first reading.
const start = int64(1_700_000_000e9)

// fakeNode is a Node whose numbers a test sets.
type fakeNode struct {
	mu            sync.Mutex
	snapshot      Snapshot
	denied, asked []TopKey
	policies      []PolicyCount
	ready, live   error
}

func newFakeNode() *fakeNode {
	n := &fakeNode{}
	n.snapshot = Snapshot{
		Version: "1.2.3", Node: "node-1", Addr: "127.0.0.1:7379", StartedAt: start,
		Commands: []CommandCount{{Name: "client|list", Calls: 3, Rejected: 2, Failed: 1}, {Name: "rl.allow", Calls: 70}},
		Errors:   []Count{{"ERR", 4}, {"NOAUTH", 1}},
		Clients:  2, MaxClients: 10_000, Accepted: 5,
		Refused:  []Count{{"clients", 0}, {"per_addr", 0}},
		Closed:   []Count{{"peer", 3}, {"quit", 0}},
		Replaced: 1, KeysTooLong: 2, LogsTooLarge: 3, AuthFailures: 7, HandshakeFailures: []Count{{"http", 0}, {"redis", 2}},
		Slots: 16384, SlotsOwned: 16384,
		Keys: 12, Specs: 2, MemoryBuckets: 1 << 20, MemoryLimit: 1 << 30, MemoryHeap: 5 << 20, MemoryRSS: 20 << 20,
	}
	n.snapshot.Policies = PolicyCount{Decisions: 40, Denied: 10, Shadowed: 8, ShadowDenied: 1}
	n.snapshot.Cluster = Cluster{
		Mode: "standalone", ID: "c1", Leader: "node-1", Leads: true, Applied: 7,
		Members: []Member{{Name: "node-1", Addr: "127.0.0.1:7379", This: true, Leads: true, Votes: true, Alive: true}},
	}
	n.snapshot.Disk = Disk{Stopped: true, WrittenBuckets: 30, WrittenBytes: 900, Syncs: 20, Saves: 2, Failures: 1, Damaged: 3}
	n.snapshot.Decisions[limit.TokenBucket] = Outcomes{Allowed: 50, Denied: 20}
	return n
}

func (n *fakeNode) set(change func(*fakeNode)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(n)
}

func (n *fakeNode) Snapshot() Snapshot {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.snapshot
	s.Commands, s.Errors = slices.Clone(s.Commands), slices.Clone(s.Errors)
	s.Refused, s.Closed = slices.Clone(s.Refused), slices.Clone(s.Closed)
	s.Cluster.Members = slices.Clone(s.Cluster.Members)
	return s
}

func (n *fakeNode) TopDenied(most int) []TopKey { return n.top(&n.denied, most) }
func (n *fakeNode) TopAsked(most int) []TopKey  { return n.top(&n.asked, most) }

func (n *fakeNode) top(keys *[]TopKey, most int) []TopKey {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone((*keys)[:min(most, len(*keys))])
}

func (n *fakeNode) PolicyCounts() []PolicyCount {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.policies)
}

func (n *fakeNode) Ready() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ready
}

func (n *fakeNode) Live() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.live
}

// config serves a fake node whose clock stands a minute after its start.
func config(n *fakeNode) Config {
	return Config{Node: n, Now: func() int64 { return start + 60e9 }, Log: slog.New(slog.DiscardHandler)}
}

func newServer(t *testing.T, cfg Config) *Server {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serve serves cfg on a free port of loopback until the test ends, and returns
// the URL without a slash at its end.
func serve(t *testing.T, cfg Config) string {
	t.Helper()
	return serveServer(t, newServer(t, cfg))
}

func serveServer(t *testing.T, s *Server) string {
	t.Helper()
	ln := listen(t)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		stopped(t, served)
	})
	return "http://" + ln.Addr().String()
}

// stopped waits for Serve to return as it does after Shutdown.
func stopped(t *testing.T, served <-chan error) {
	t.Helper()
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("Serve returned %v", err)
	}
}

// get asks over a connection of its own, and returns the body and the answer.
func get(t *testing.T, url string) (string, *http.Response) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), answer
}

// missing skips a test that needs a program, or fails it in CI.
func missing(t *testing.T, program, where string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is missing: scripts/install-test-deps installs it (%s)", program, where)
	}
	t.Skipf("*** %s is missing: scripts/install-test-deps installs it (%s)", program, where)
}

// syncBuffer is a log that several goroutines write.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
