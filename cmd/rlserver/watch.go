package main

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlserver/rlserver/admin"
	"github.com/rlserver/rlserver/cluster"
	"github.com/rlserver/rlserver/commands"
	"github.com/rlserver/rlserver/policy"
	"github.com/rlserver/rlserver/resp"
	"github.com/rlserver/rlserver/resp/server"
	"github.com/rlserver/rlserver/state"
)

// watch shows this process to the side door: it counts what nobody below
// does, and asks the rest. It implements admin.Node.
type watch struct {
	node       *node
	joined     func() error // why the node is not part of its cluster
	dispatcher *commands.Dispatcher
	member     *cluster.Node // nil until it is set: no cluster is shown
	keeper     *keeper       // nil until it is set: no disk is shown
	now        func() int64

	latency         admin.Latency // of decisions
	refused, closed reasonCounts
	acceptErrors    atomic.Uint64
	panics          atomic.Uint64
	authFailures    atomic.Uint64 // of Redis clients

	redisHandshakes, httpHandshakes atomic.Uint64 // that failed

	serving atomic.Bool
	sweptAt atomic.Int64 // Unix nanoseconds
	evicted atomic.Int64 // buckets, at the end of the last step
}

var _ admin.Node = (*watch)(nil)

// newWatch lacks the dispatcher, which needs its commandEvents, the member and
// the keeper.
func newWatch(n *node, joined func() error, now func() int64) *watch {
	w := &watch{node: n, joined: joined, now: now}
	w.sweptAt.Store(now())
	w.refused.begin(server.ReasonClients, server.ReasonPerAddr, server.ReasonShutdown)
	w.closed.begin(server.ReasonPeer, server.ReasonQuit, server.ReasonProtocol, server.ReasonStranger, server.ReasonPanic, server.ReasonIdle,
		server.ReasonCommand, server.ReasonWrite, server.ReasonHandshake, server.ReasonKilled, server.ReasonShutdown)
	return w
}

// commandEvents counts and logs what commands meet.
func (w *watch) commandEvents(log *slog.Logger) commands.Events {
	return commands.Events{
		PolicyWarning: func(name, warning string) {
			log.Warn("a policy may not do what is meant", "policy", oneLine(name), "warning", warning)
		},
		Decided: w.latency.Observe,
		Fallback: func(how policy.OnError, why error) {
			log.Warn("a request was answered without its owner", "answer", fallbackName(how), "why", why)
		},
		AuthFailed: func(user, addr string) {
			w.authFailures.Add(1)
			log.Warn("authentication failed", "user", oneLine(user), "addr", addr)
		},
	}
}

// events counts what happens to connections, and passes it on.
func (w *watch) events(to server.Events) server.Events {
	return server.Events{
		Opened: to.Opened,
		Closed: func(peer resp.ClientInfo, why server.Reason) {
			w.closed.add(why)
			to.Closed(peer, why)
		},
		Refused: func(addr string, why server.Reason) {
			w.refused.add(why)
			to.Refused(addr, why)
		},
		Handshake: func(addr string, err error) {
			w.redisHandshakes.Add(1)
			to.Handshake(addr, err)
		},
		Accept: func(err error) {
			w.acceptErrors.Add(1)
			to.Accept(err)
		},
		Panic: func(peer resp.ClientInfo, value any, stack []byte) {
			w.panics.Add(1)
			to.Panic(peer, value, stack)
		},
	}
}

// httpHandshakeFailed counts and logs what comes to the side door.
func (w *watch) httpHandshakeFailed(log *slog.Logger) func(addr string, err error) {
	return func(addr string, err error) {
		w.httpHandshakes.Add(1)
		log.Warn("TLS handshake for HTTP failed", "addr", addr, "why", handshakeError(err))
	}
}

// Snapshot implements admin.Node.
func (w *watch) Snapshot() admin.Snapshot {
	info, buckets, refused := w.node.Describe(), w.node.store.Stats(), w.dispatcher.Refusals()
	s := admin.Snapshot{
		Version: info.Version, Node: info.Node, Addr: info.Addr, StartedAt: info.StartedAt,
		Latency:  w.latency.Histogram(),
		Replaced: refused.Replaced, KeysTooLong: refused.KeysTooLong, LogsTooLarge: refused.LogsTooLarge,

		Clients: info.Clients, MaxClients: info.MaxClients,
		Accepted: uint64(info.Accepted), Refused: w.refused.counts(), Closed: w.closed.counts(),
		AcceptErrors: w.acceptErrors.Load(), Panics: w.panics.Load(), AuthFailures: w.authFailures.Load(),
		HandshakeFailures: []admin.Count{{Name: "http", N: w.httpHandshakes.Load()}, {Name: "redis", N: w.redisHandshakes.Load()}},
		BytesRead:         uint64(info.BytesRead), BytesWritten: uint64(info.BytesWritten),

		SlotsOwned: state.Slots, Slots: state.Slots,
		Keys: buckets.Keys, Specs: buckets.Specs,
		MemoryBuckets: buckets.MemoryBytes, MemoryLimit: buckets.MaxMemory,
		MemoryHeap: info.MemoryHeap, MemoryRSS: info.MemoryRSS,
		EvictedFull: uint64(buckets.EvictedFull), EvictedNotFull: uint64(buckets.EvictedNotFull),
		NoRoom: uint64(buckets.NoRoom), Swept: uint64(buckets.Swept), Sweeps: uint64(buckets.Sweeps),
		Conversions: uint64(buckets.Conversions),

		Policies: admin.PolicyCount(w.dispatcher.PolicyTotals()),
	}
	if w.member != nil {
		s.Cluster = clusterSnapshot(w.member, w.node.cfg.cluster.mode())
	}
	if w.keeper != nil {
		s.Disk = w.keeper.metrics()
	}
	for _, c := range w.dispatcher.CommandCounts() {
		s.Commands = append(s.Commands, admin.CommandCount(c))
	}
	for _, e := range w.dispatcher.ErrorCounts() {
		s.Errors = append(s.Errors, admin.Count{Name: e.Code, N: e.N})
	}
	for a, o := range w.dispatcher.Decisions() {
		s.Decisions[a] = admin.Outcomes{Allowed: o.Allowed, Denied: o.Denied}
	}
	return s
}

// TopDenied implements admin.Node.
func (w *watch) TopDenied(n int) []admin.TopKey { return w.top(state.TopDenied, n) }

// TopAsked implements admin.Node.
func (w *watch) TopAsked(n int) []admin.TopKey { return w.top(state.TopAsked, n) }

func (w *watch) top(kind state.TopKind, n int) []admin.TopKey {
	top := w.node.store.Top(kind, n, w.now())
	keys := make([]admin.TopKey, len(top))
	for i, k := range top {
		keys[i] = admin.TopKey{Key: k.Key, Count: k.Count}
	}
	return keys
}

// PolicyCounts implements admin.Node.
func (w *watch) PolicyCounts() []admin.PolicyCount {
	counts := w.dispatcher.PolicyCounts()
	all := make([]admin.PolicyCount, len(counts))
	for i, c := range counts {
		all[i] = admin.PolicyCount(c)
	}
	return all
}

var errNotServing = errors.New("it does not serve: it starts, or drains its clients to stop")

// Ready implements admin.Node.
func (w *watch) Ready() error {
	if !w.serving.Load() {
		return errNotServing
	}
	return w.joined()
}

// stuckAfter is how long the sweeper, which moves every sweepEvery, may stand
// still before the process is taken for dead. It takes every slot's lock in
// turn, so that a lock that is never released stops it too.
const stuckAfter = 15 * time.Second

// Live implements admin.Node.
func (w *watch) Live() error {
	if since := time.Duration(w.now() - w.sweptAt.Load()); since > stuckAfter {
		return fmt.Errorf("the sweeper has stood still for %s", since.Round(time.Second))
	}
	return nil
}

// swept notes a step of the sweeper, in Unix nanoseconds. One since whose
// predecessor buckets were evicted is an event of its own: a bound was lowered,
// or memory is full.
func (w *watch) swept(begun, ended int64) {
	w.sweptAt.Store(begun)
	buckets := w.node.store.Stats()
	evicted := buckets.EvictedFull + buckets.EvictedNotFull
	event := commands.LatencySweep
	if w.evicted.Swap(evicted) != evicted {
		event = commands.LatencyEviction
	}
	w.dispatcher.Took(event, begun, ended-begun)
}

// reasonCounts counts connections by a reason.
type reasonCounts struct {
	mu sync.Mutex
	n  map[server.Reason]uint64
}

// begin makes the reasons known, so that they show as 0 before they occur.
func (c *reasonCounts) begin(reasons ...server.Reason) {
	c.n = make(map[server.Reason]uint64, len(reasons))
	for _, r := range reasons {
		c.n[r] = 0
	}
}

func (c *reasonCounts) add(why server.Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[why]++
}

func (c *reasonCounts) counts() []admin.Count {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := make([]admin.Count, 0, len(c.n))
	for why, n := range c.n {
		counts = append(counts, admin.Count{Name: string(why), N: n})
	}
	slices.SortFunc(counts, func(a, b admin.Count) int { return strings.Compare(a.Name, b.Name) })
	return counts
}
