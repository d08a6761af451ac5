package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"flag"
	"net"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/rlserver/rlserver/commands"
	"github.com/rlserver/rlserver/resp"
	"github.com/rlserver/rlserver/resp/server"
	"github.com/rlserver/rlserver/state"
)

// node is this process as the commands see it.
type node struct {
	cfg     *config
	store   *state.Store
	sockets *server.Server // set before it is served
	addr    string         // host:port that is listened on; set before it is served
	runID   string
	started int64 // Unix nanoseconds
	stop    context.CancelFunc

	mu sync.Mutex // guards the fields of cfg that are tunables
}

func newNode(cfg *config, store *state.Store, now int64, stop context.CancelFunc) *node {
	id := make([]byte, 20)
	_, _ = rand.Read(id) // it never fails
	return &node{cfg: cfg, store: store, runID: hex.EncodeToString(id), started: now, stop: stop}
}

// Describe implements commands.Server.
func (n *node) Describe() commands.ServerInfo {
	sockets, buckets := n.sockets.Stats(), n.store.Stats()
	n.mu.Lock()
	maxClients := n.cfg.maxClients
	n.mu.Unlock()
	user, system := cpuSeconds()
	return commands.ServerInfo{
		Version:   version,
		Node:      n.cfg.nodeName,
		RunID:     n.runID,
		Addr:      n.addr,
		OS:        runtime.GOOS + " " + runtime.GOARCH,
		PID:       os.Getpid(),
		StartedAt: n.started,

		Clients: sockets.Clients, MaxClients: int64(maxClients),
		Accepted: sockets.Accepted, Refused: sockets.Refused,
		BytesRead: sockets.BytesRead, BytesWritten: sockets.BytesWritten,
		MemoryHeap: heapBytes(), MemoryRSS: rssBytes(),
		MemoryBuckets: buckets.MemoryBytes, MemoryLimit: buckets.MaxMemory,
		CPUUser: user, CPUSystem: system,
		Goroutines: int64(runtime.NumGoroutine()),
		Specs:      buckets.Specs,
		Evicted:    buckets.EvictedFull + buckets.EvictedNotFull, EvictedUsed: buckets.EvictedNotFull,
		Swept:       buckets.Swept,
		Conversions: buckets.Conversions,
	}
}

// Clients implements commands.Server.
func (n *node) Clients() []resp.ClientInfo { return n.sockets.Clients() }

// Kill implements commands.Server.
func (n *node) Kill(match func(resp.ClientInfo) bool) int { return n.sockets.Kill(match) }

// Shutdown implements commands.Server.
func (n *node) Shutdown() { n.stop() }

// Settings implements commands.Server: the settings of Redis that clients
// look at, as they are here, and this server's own under their flags' names.
func (n *node) Settings() []commands.Setting {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.settings()
}

// settings is for who holds n.mu.
func (n *node) settings() []commands.Setting {
	host, port, _ := net.SplitHostPort(n.addr) // as the system writes it
	all := []commands.Setting{
		{Name: "save", Value: ""},
		{Name: "appendonly", Value: "yes"},
		{Name: "appendfsync", Value: syncValue(n.cfg.sync).redis()},
		{Name: "databases", Value: "1"},
		{Name: "maxmemory-policy", Value: "forgets-least"},
		{Name: "replica-read-only", Value: "yes"},
		{Name: "slave-read-only", Value: "yes"},
		{Name: "cluster-enabled", Value: yesNo(n.cfg.cluster.secret != "")},
		{Name: "proto-max-bulk-len", Value: strconv.FormatInt(int64(n.cfg.maxBulk), 10)},
		{Name: "port", Value: port},
		{Name: "bind", Value: host},
	}
	add := func(name, value string) { all = append(all, commands.Setting{Name: name, Value: value}) }
	n.redisSettings(add)
	n.cfg.visit(func(f *flag.Flag) { add(f.Name, f.Value.String()) })
	return all
}

// yesNo is how Redis writes a switch.
func yesNo(on bool) string {
	if on {
		return "yes"
	}
	return "no"
}

func cpuSeconds() (user, system float64) {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0, 0
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(usage.Utime), seconds(usage.Stime)
}

func heapBytes() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// rssBytes is the resident memory; where the system does not tell, what the
// runtime holds.
func rssBytes() int64 {
	status, err := os.ReadFile("/proc/self/statm")
	if err == nil {
		if fields := strings.Fields(string(status)); len(fields) > 1 {
			if pages, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				return pages * int64(os.Getpagesize())
			}
		}
	}
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
