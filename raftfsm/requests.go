package raftfsm

import (
	"maps"
	"slices"
	"strings"
)

// maxRequests is how many requests are remembered: those of more than a minute
// at a thousand writes a second.
const maxRequests = 65_536

// requests are the last requests with what came of them, so that one that is
// sent again is not applied again.
type requests struct {
	results map[RequestID]Result
	order   []RequestID // a ring once it is full
	oldest  int         // in order
}

func newRequests() requests { return requests{results: map[RequestID]Result{}} }

func (r *requests) find(id RequestID) (Result, bool) {
	result, is := r.results[id]
	return result, is
}

func (r *requests) remember(id RequestID, result Result) {
	if len(r.order) < maxRequests {
		r.order = append(r.order, id)
	} else {
		delete(r.results, r.order[r.oldest])
		r.order[r.oldest] = id
		r.oldest = (r.oldest + 1) % maxRequests
	}
	r.results[id] = result
}

func (r *requests) clone() requests {
	return requests{results: maps.Clone(r.results), order: slices.Clone(r.order), oldest: r.oldest}
}

// all lists the requests, the oldest first.
func (r *requests) all() []RequestID { return slices.Concat(r.order[r.oldest:], r.order[:r.oldest]) }

func compareText(a, b string) int { return strings.Compare(a, b) }
