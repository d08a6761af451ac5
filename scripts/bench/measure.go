package main

import (
	"context"
	"fmt"
	"math"
	"time"
)

// cellSeconds is how long a cell runs, about: long enough for a clock of a
// hundred ticks a second, short enough for the next row to meet the same
// machine.
const cellSeconds = 2

// sample is what one cell gave in one round.
type sample struct {
	speed
	cpu float64 // seconds of the server per million requests; NaN: not known
}

// measure takes a sample of every cell, round by round. Each round begins with
// another row, so that none has always the same neighbours.
func (b *bench) measure(ctx context.Context, targets []*target) (map[cell][]sample, error) {
	hz, err := ticksPerSecond()
	if err != nil {
		return nil, err
	}
	cells := map[cell][]sample{}
	for round := range b.rounds {
		for _, depth := range depths {
			for i := range targets {
				t := targets[(i+round)%len(targets)]
				if !b.wants(t.row, depth) {
					continue
				}
				if err := settle(ctx, targets); err != nil {
					return nil, err
				}
				c := cell{t.name, depth}
				s, err := b.sample(ctx, t, depth, hz)
				if err != nil {
					return nil, fmt.Errorf("%v: %w", c, err)
				}
				b.say("round %d of %d  %-45v %9.0f/s  %6.2f CPU s per million", round+1, b.rounds, c, s.perSecond, s.cpu)
				cells[c] = append(cells[c], s)
			}
		}
	}
	return cells, nil
}

func (b *bench) sample(ctx context.Context, t *target, depth int, hz float64) (sample, error) {
	l := load{addr: t.addr, command: t.command, keys: b.keys, depth: depth}
	if t.requests[depth] == 0 {
		l.requests = wholeBatches(b.scale*float64(20_000+4_000*depth), depth)
		trial, err := l.run(ctx)
		if err != nil {
			return sample{}, err
		}
		t.requests[depth] = wholeBatches(b.scale*cellSeconds*trial.perSecond, depth)
	}
	l.requests = t.requests[depth]

	before, err := t.cpuTicks()
	if err != nil {
		return sample{}, err
	}
	s, err := l.run(ctx)
	if err != nil {
		return sample{}, err
	}
	after, err := t.cpuTicks()
	if err != nil {
		return sample{}, err
	}
	return sample{s, (after - before) / hz * 1e6 / float64(l.requests)}, nil
}

// wholeBatches rounds up to what all connections send in whole pipelines:
// redis-benchmark would send more than it counts otherwise.
func wholeBatches(requests float64, depth int) int {
	batch := connections * depth
	return batch * max(1, int(math.Ceil(requests/float64(batch))))
}

// cpuTicks is NaN where the process is not known.
func (t *target) cpuTicks() (float64, error) {
	if t.pid == 0 {
		return math.NaN(), nil
	}
	ticks, err := cpuTicks(t.pid)
	return float64(ticks), err
}

// settle waits until no server works on what the cell before left behind
// (expired keys, garbage), but not for ever: the sweep of one may be slow.
func settle(ctx context.Context, targets []*target) error {
	const (
		interval = 200 * time.Millisecond
		quiet    = 2 // ticks in an interval, of all servers
		atMost   = 25
	)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	before := math.Inf(-1)
	for range atMost {
		var now float64
		for _, t := range targets {
			ticks, err := t.cpuTicks()
			if err != nil {
				return err
			}
			if !math.IsNaN(ticks) {
				now += ticks
			}
		}
		if now-before <= quiet {
			return nil
		}
		before = now
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}
