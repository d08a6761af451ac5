package cluster

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rlserver/rlserver/cluster/bus"
	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/policy"
)

const secret = "the secret of the cluster"

// member is a node of a test, which can be stopped and started again.
type member struct {
	*Node

	t      *testing.T
	dir    string
	name   string
	addr   string // of its bus
	fatal  chan error
	shared bool
	close  func()
}

// listen takes a free port.
func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}

// newMember makes a node that does not run yet.
func newMember(t *testing.T, name string) *member {
	t.Helper()
	return &member{t: t, dir: filepath.Join(t.TempDir(), "data"), name: name}
}

// start runs the node on a free port.
func (m *member) start(change ...func(*BusConfig)) *member {
	m.t.Helper()
	return m.startOn(listen(m.t), change...)
}

func (m *member) startOn(ln net.Listener, change ...func(*BusConfig)) *member {
	m.t.Helper()
	m.addr = ln.Addr().String()
	b := &BusConfig{
		Listener: ln, Addr: m.addr, Credentials: credentials(m.t, secret),
		Dial: func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		},
	}
	for _, c := range change {
		c(b)
	}
	m.open(b)
	return m
}

func (m *member) open(b *BusConfig) {
	m.t.Helper()
	m.fatal = make(chan error, 1)
	cfg := Config{
		Dir: m.dir, Name: m.name, Addr: m.name + ".example:7379", Voters: 3, Bus: b, Shared: m.shared,
		Bounds: limit.Bounds{MaxLog: 1000}, Multiplier: 1, Now: time.Now, Boottime: testBoottime(), Rand: rand.Reader,
		Log:   slog.New(slog.NewTextHandler(testOutput{m.t, m.name}, nil)),
		Fatal: func(err error) { m.fatal <- err },
	}
	n, err := Open(cfg)
	if err != nil {
		m.t.Fatal(err)
	}
	m.Node = n
	m.close = sync.OnceFunc(func() {
		if err := n.Close(); err != nil {
			m.t.Error(err)
		}
	})
	m.t.Cleanup(m.close)
}

// testOutput writes the log of a node to that of the test.
type testOutput struct {
	t    *testing.T
	name string
}

func (o testOutput) Write(b []byte) (int, error) {
	if o.t.Context().Err() == nil {
		o.t.Logf("%s: %s", o.name, b)
	}
	return len(b), nil
}

var _ io.Writer = testOutput{}

func credentials(t *testing.T, secret string) func() *bus.Credentials {
	t.Helper()
	c, err := bus.FromSecrets([]byte(secret), nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() *bus.Credentials { return c }
}

func join(all ...*member) func(*BusConfig) {
	return func(b *BusConfig) {
		for _, m := range all {
			b.Join = append(b.Join, m.addr)
		}
	}
}

func found(b *BusConfig) { b.Found = true }

// ready waits until the node has registered.
func (m *member) ready() *member {
	m.t.Helper()
	select {
	case <-m.Registered():
	case err := <-m.fatal:
		m.t.Fatalf("%s: %v", m.name, err)
	case <-time.After(30 * time.Second):
		m.t.Fatalf("%s is not ready: %v", m.name, m.Ready())
	}
	if err := m.Ready(); err != nil {
		m.t.Fatalf("%s: %v", m.name, err)
	}
	return m
}

// ends waits until the node says that its process must end.
func (m *member) ends() error {
	m.t.Helper()
	select {
	case err := <-m.fatal:
		m.close()
		return err
	case <-time.After(30 * time.Second):
		m.t.Fatalf("%s goes on", m.name)
		return nil
	}
}

// three makes a cluster of three, of which the first founded it.
func three(t *testing.T) []*member {
	t.Helper()
	all := []*member{newMember(t, "n1").start(found)}
	all[0].ready()
	for _, name := range []string{"n2", "n3"} {
		all = append(all, newMember(t, name).start(join(all[0])))
	}
	for _, m := range all {
		m.ready()
	}
	eventually(t, "three voters", func() bool { return len(all[2].raft.View().Voters) == 3 })
	return all
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline, tick := time.After(30*time.Second), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

// set sets a policy through the node.
func (m *member) set(name string, limit int) error {
	p, err := policy.ReadOne(fmt.Appendf(nil, `{"limit": %d, "window": "1s"}`, limit), name, m.Policies().Bounds())
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	m.Policies().Set(&p.Policy, nil, func(_ uint64, err error) { done <- err })
	return <-done
}

// limit is that of a policy as the node knows it; 0: there is none.
func (m *member) limit(name string) int {
	if r := m.Policies().View().Get(name); r != nil {
		return int(r.Limit)
	}
	return 0
}

// change waits for a change of members.
func change(do func(name string, done func(error)), name string) error {
	done := make(chan error, 1)
	do(name, func(err error) { done <- err })
	return <-done
}

// leads finds the leader, and the others.
func leads(t *testing.T, all []*member) (leader *member, others []*member) {
	t.Helper()
	eventually(t, "a leader that all know", func() bool {
		leader, others = nil, nil
		for _, m := range all {
			if m.raft.Leader() == m.ID() {
				leader = m
			} else {
				others = append(others, m)
			}
			if m.raft.Leader() == "" || m.raft.Leader() != all[0].raft.Leader() {
				return false
			}
		}
		return leader != nil
	})
	return leader, others
}

// listenOn takes a port that was free a moment ago.
func listenOn(t *testing.T, addr string) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// testBoottime counts from now on.
func testBoottime() func() int64 {
	begun := time.Now()
	return func() int64 { return int64(time.Since(begun)) + 1 }
}
