package commands

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rlserver/rlserver/policy"
)

// PolicyCount is what one policy answered since the node started. Peeks and
// cost 0 are not counted.
type PolicyCount struct {
	Name         string
	Decisions    uint64 // requests it was asked about
	Denied       uint64 // that it denied, also where another scope would have too
	Shadowed     uint64 // requests it was asked about in shadow mode
	ShadowDenied uint64 // that it would have denied
}

// maxCounted bounds the policies that have counters of their own: a million
// policies of single clients must not take a million counters. Those of
// policies that were deleted make room when the counters are next read.
const maxCounted = 10_000

const countShards = 16

// policyCounts counts by policy. Its seed must be made.
type policyCounts struct {
	seed   maphash.Seed
	shards [countShards]countShard
	sum    policyCounter // of all, those without counters of their own included
}

type countShard struct {
	mu     sync.RWMutex
	byName map[string]*policyCounter // guarded by mu
}

type policyCounter struct {
	decisions, denied, shadowed, shadowDenied atomic.Uint64
}

func (p *policyCounts) decided(name string, denied bool) {
	p.sum.decided(denied)
	if counter := p.of(name); counter != nil {
		counter.decided(denied)
	}
}

func (p *policyCounts) shadowed(name string, denied bool) {
	p.sum.shadow(denied)
	if counter := p.of(name); counter != nil {
		counter.shadow(denied)
	}
}

func (p *policyCounter) decided(denied bool) {
	p.decisions.Add(1)
	if denied {
		p.denied.Add(1)
	}
}

func (p *policyCounter) shadow(denied bool) {
	p.shadowed.Add(1)
	if denied {
		p.shadowDenied.Add(1)
	}
}

func (p *policyCounter) load(name string) PolicyCount {
	return PolicyCount{name, p.decisions.Load(), p.denied.Load(), p.shadowed.Load(), p.shadowDenied.Load()}
}

func (p *policyCounts) shard(name string) *countShard {
	return &p.shards[maphash.String(p.seed, name)%countShards]
}

// of returns the policy's counters, new ones if there is room, else nil.
func (p *policyCounts) of(name string) *policyCounter {
	s := p.shard(name)
	s.mu.RLock()
	counter, full := s.byName[name], len(s.byName) >= maxCounted/countShards
	s.mu.RUnlock()
	if counter != nil || full {
		return counter
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if counter = s.byName[name]; counter == nil && len(s.byName) < maxCounted/countShards {
		if s.byName == nil {
			s.byName = map[string]*policyCounter{}
		}
		counter = &policyCounter{}
		s.byName[name] = counter
	}
	return counter
}

// PolicyCounts returns the counters by policy, by name, of those that exist;
// at most 10,000 policies have their own.
func (d *Dispatcher) PolicyCounts() []PolicyCount {
	if d.cfg.Policies == nil {
		return nil
	}
	view := d.cfg.Policies.View()
	var all []PolicyCount
	for i := range d.counts.shards {
		all = d.counts.shards[i].appendTo(all, view)
	}
	slices.SortFunc(all, func(a, b PolicyCount) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// appendTo appends the counters of policies that exist, and drops the others.
func (s *countShard) appendTo(all []PolicyCount, view *policy.View) []PolicyCount {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, counter := range s.byName {
		if view.Get(name) == nil {
			delete(s.byName, name)
			continue
		}
		all = append(all, counter.load(name))
	}
	return all
}

// PolicyTotals is the sum over all policies, also those that are gone or have
// no counters of their own. Its Name is empty.
func (d *Dispatcher) PolicyTotals() PolicyCount { return d.counts.sum.load("") }
