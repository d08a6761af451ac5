package commands

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// LatencyEvent is a kind of thing that may take too long. The set is fixed.
type LatencyEvent string

// The events; the first two are Redis' names.
const (
	LatencyCommand     LatencyEvent = "command"      // a command that is not fast
	LatencyFastCommand LatencyEvent = "fast-command" // a fast one, or a batch of decisions
	LatencySweep       LatencyEvent = "sweep"        // a step of the sweeper
	LatencyEviction    LatencyEvent = "eviction"     // a step of the sweeper in which buckets were evicted
)

// spike is the longest time an event took in one second.
type spike struct {
	at    int64 // Unix seconds
	nanos int64
}

// maxSpikes is how many seconds with spikes are kept of an event, as in Redis.
const maxSpikes = 160

// spikes are what is kept of one event.
type spikes struct {
	event LatencyEvent
	last  []spike // oldest first, at most maxSpikes
	worst int64   // nanoseconds
}

// latencyMonitor keeps what took as long as a threshold, event by event.
type latencyMonitor struct {
	threshold atomic.Int64 // nanoseconds; 0: off

	mu     sync.Mutex
	events []spikes // those that occurred, by name
}

// Took notes that something took so long, if that was too long.
func (d *Dispatcher) Took(event LatencyEvent, at, nanos int64) { d.latency.note(event, at, nanos) }

// note keeps what took too long; at is in Unix nanoseconds. Of a second only
// the worst counts.
func (m *latencyMonitor) note(event LatencyEvent, at, nanos int64) {
	threshold := m.threshold.Load()
	if threshold == 0 || nanos < threshold {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i, known := m.find(event)
	if !known {
		m.events = slices.Insert(m.events, i, spikes{event: event})
	}
	s := &m.events[i]
	s.worst = max(s.worst, nanos)
	if n := len(s.last); n > 0 && s.last[n-1].at == at/second {
		s.last[n-1].nanos = max(s.last[n-1].nanos, nanos)
		return
	}
	if len(s.last) == maxSpikes {
		s.last = s.last[:copy(s.last, s.last[1:])]
	}
	s.last = append(s.last, spike{at / second, nanos})
}

// find is for who holds mu.
func (m *latencyMonitor) find(event LatencyEvent) (int, bool) {
	return slices.BinarySearchFunc(m.events, event, func(s spikes, name LatencyEvent) int {
		return strings.Compare(string(s.event), string(name))
	})
}

// all returns a copy of what is kept.
func (m *latencyMonitor) all() []spikes {
	m.mu.Lock()
	defer m.mu.Unlock()
	events := slices.Clone(m.events)
	for i := range events {
		events[i].last = slices.Clone(events[i].last)
	}
	return events
}

// reset forgets the events named, or all if none is, and says how many.
func (m *latencyMonitor) reset(names [][]byte) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.events)
	m.events = slices.DeleteFunc(m.events, func(s spikes) bool {
		return len(names) == 0 || slices.ContainsFunc(names, func(name []byte) bool { return string(name) == string(s.event) })
	})
	return before - len(m.events)
}

// settingLatency is Redis' setting: milliseconds, 0: off.
const settingLatency = "latency-monitor-threshold"

func (m *latencyMonitor) settings() []Setting {
	return []Setting{{settingLatency, strconv.FormatInt(m.threshold.Load()/millisecond, 10)}}
}

// set changes its setting; false if name is another.
func (m *latencyMonitor) set(name, value string) (known bool, err error) {
	if name != settingLatency {
		return false, nil
	}
	ms, err := settingNumber(value, 0, math.MaxInt64/millisecond)
	if err == nil {
		m.threshold.Store(ms * millisecond)
	}
	return true, err
}
