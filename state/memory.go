package state

import (
	"sync"
	"sync/atomic"
)

// memory is the account of what the buckets take. Room for new ones is
// reserved before it is used. Only a bucket that grows in use may pass the
// ceiling, until it has made room itself.
type memory struct {
	used    atomic.Int64
	ceiling atomic.Int64

	mu  sync.Mutex // guards max and the ceiling's writes
	max int64
}

// reserve adds n bytes to the account if they fit.
func (m *memory) reserve(n int64) bool {
	for {
		used := m.used.Load()
		if used+n > m.ceiling.Load() {
			return false
		}
		if m.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// settle corrects the account by n bytes.
func (m *memory) settle(n int64) {
	if n != 0 {
		m.used.Add(n)
	}
}

// over is by how many bytes the account is above the ceiling; at most 0: it
// is not.
func (m *memory) over() int64 { return m.used.Load() - m.ceiling.Load() }

// setMax changes the bound. A bound below what is used stops growth at once;
// the ceiling then comes down with what is used, see lower.
func (m *memory) setMax(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.max = n
	m.ceiling.Store(max(n, m.used.Load()))
}

// lower brings the ceiling down towards the bound and reports by how many
// bytes what is used is still above it.
func (m *memory) lower() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	used := m.used.Load()
	m.ceiling.Store(max(m.max, min(m.ceiling.Load(), used)))
	return max(0, used-m.max)
}

// bound is what was set with setMax.
func (m *memory) bound() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.max
}
