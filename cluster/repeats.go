package cluster

import (
	"sync"
	"time"
)

// repeats remembers what the log was told last.
type repeats struct {
	mu   sync.Mutex
	text string
	at   time.Time
}

// repeatAfter is how often the log is told the same.
const repeatAfter = 10 * time.Second

// news says whether the log is to be told.
func (r *repeats) news(text string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if text == r.text && now.Sub(r.at) < repeatAfter {
		return false
	}
	r.text, r.at = text, now
	return true
}

// last is what the log was told last.
func (r *repeats) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text
}
