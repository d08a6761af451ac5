package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// written measures how much is written for a decision: of keys drawn uniformly
// that are all allowed, and of ten of which nine are denied.
func (b *diskBench) written(ctx context.Context, all []*keeper) error {
	decisions := max(int(500_000*b.scale), 1000)
	for i, k := range all {
		if !k.journals {
			continue
		}
		p, err := b.filled(ctx, k, filepath.Join(b.dir, fmt.Sprintf("written-%d", i)))
		if err != nil {
			return err
		}
		// A day's only unit is taken from each: they deny from now on.
		spent := k.limiting("gone:"+randInt, "1")
		if err := fill(ctx, p.addr, spent, b.keys/10); err != nil {
			return err
		}
		if k.perDecision, err = b.writtenBy(ctx, k, p, 0, spent, decisions); err != nil {
			return err
		}
		if k.withDenials, err = b.writtenBy(ctx, k, p, 0.9, spent, decisions); err != nil {
			return err
		}
		b.say("%s writes %.1f bytes a decision, %.1f where 9 of 10 are denied", k.name, k.perDecision, k.withDenials)
		p.stop()
	}
	return nil
}

func (b *diskBench) writtenBy(ctx context.Context, k *keeper, p *process, share float64, spent []string, decisions int) (float64, error) {
	counter := "aof_current_size"
	if k.by == rlserver {
		counter = "buckets_written_bytes"
	}
	if err := wait(ctx, perSecondSync); err != nil {
		return 0, err
	}
	before, err := field(ctx, p.addr, counter)
	if err != nil {
		return 0, err
	}
	rng := rand.New(rand.NewPCG(1, 2))
	allowing := k.limiting(uniform, "100")
	denied, err := exchange(ctx, p.addr, decisions, func() []string {
		if rng.Float64() < share {
			return withKey(nil, spent, rng.IntN(b.keys/10))
		}
		return withKey(nil, allowing, rng.IntN(b.keys))
	})
	if err != nil {
		return 0, err
	}
	if got := float64(denied) / float64(decisions); got < share-0.02 || got > share+0.02 {
		return 0, fmt.Errorf("%s denied %.2f of all, want %.2f", k.name, got, share)
	}
	if err := wait(ctx, perSecondSync); err != nil {
		return 0, err
	}
	after, err := field(ctx, p.addr, counter)
	return (after - before) / float64(decisions), err
}

// exchange sends n requests in pipelines of 64 over one connection, and counts
// the denials.
func exchange(ctx context.Context, addr string, n int, next func() []string) (denied int, err error) {
	conn, hangUp, err := dial(ctx, addr)
	if err != nil {
		return 0, err
	}
	defer hangUp()
	r := bufio.NewReader(conn)
	for sent := 0; sent < n; {
		var batch []byte
		size := min(64, n-sent)
		for range size {
			batch = appendCommand(batch, next())
		}
		if _, err := conn.Write(batch); err != nil {
			return 0, err
		}
		for range size {
			answer, err := readReply(r)
			if err != nil {
				return 0, err
			}
			if answer.first() == "0" {
				denied++
			}
		}
		sent += size
	}
	return denied, nil
}

const (
	pacedConnections = 16
	pacedRate        = 4000 // decisions a second, of all connections
)

func (o *options) pacedTime() time.Duration { return time.Duration(8 * o.scale * float64(time.Second)) }

// latencies measures decisions at a steady rate, in turns while the server
// saves again and again and while it does not.
func (b *diskBench) latencies(ctx context.Context, all []*keeper) error {
	for i, k := range all {
		if !k.timed {
			continue
		}
		p, err := b.filled(ctx, k, filepath.Join(b.dir, fmt.Sprintf("timed-%d", i)))
		if err != nil {
			return err
		}
		if err := wait(ctx, 2*perSecondSync); err != nil { // garbage
			return err
		}
		for round := range b.rounds {
			quiet, err := b.paced(ctx, k, p)
			if err != nil {
				return err
			}
			saves, stop := b.saveAgain(ctx, k, p)
			saving, err := b.paced(ctx, k, p)
			close(stop)
			if err := errors.Join(err, <-saves); err != nil {
				return err
			}
			k.quiet, k.quietMedians = append(k.quiet, part(quiet, 0.999)), append(k.quietMedians, part(quiet, 0.5))
			k.saving, k.saveMedians = append(k.saving, part(saving, 0.999)), append(k.saveMedians, part(saving, 0.5))
			b.say("round %d of %d  %s  p99.9 %.2f ms, while saving %.2f ms", round+1, b.rounds, k.name, part(quiet, 0.999), part(saving, 0.999))
		}
		p.stop()
	}
	return nil
}

// saveAgain saves until stop is closed, and then tells what went wrong.
func (b *diskBench) saveAgain(ctx context.Context, k *keeper, p *process) (done <-chan error, stop chan<- struct{}) {
	ended, end := make(chan error, 1), make(chan struct{})
	go func() {
		for {
			select {
			case <-end:
				ended <- nil
				return
			default:
			}
			if err := saveBeside(ctx, k, p.addr); err != nil {
				ended <- err
				return
			}
		}
	}()
	return ended, end
}

// saveBeside saves while others are served, and returns when that is done.
func saveBeside(ctx context.Context, k *keeper, addr string) error {
	if k.by == rlserver {
		_, err := ask(ctx, addr, "RL.SAVE")
		return err
	}
	if _, err := ask(ctx, addr, "BGSAVE"); err != nil {
		return err
	}
	for {
		running, err := field(ctx, addr, "rdb_bgsave_in_progress")
		if err != nil || running == 0 {
			return err
		}
		if err := wait(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// paced asks for keys at a steady rate, and returns the times that answers
// took, in milliseconds and ascending. A request that is late as the one
// before was is as late as it was.
func (b *diskBench) paced(ctx context.Context, k *keeper, p *process) ([]float64, error) {
	var all []float64
	var mu sync.Mutex
	var asking sync.WaitGroup
	errs := make(chan error, pacedConnections)
	for n := range pacedConnections {
		asking.Go(func() {
			took, err := b.pacedOne(ctx, k, p.addr, rand.New(rand.NewPCG(uint64(n), 1)))
			errs <- err
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
		})
	}
	asking.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(all)
	return all, nil
}

func (b *diskBench) pacedOne(ctx context.Context, k *keeper, addr string, rng *rand.Rand) ([]float64, error) {
	conn, hangUp, err := dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer hangUp()
	const every = time.Second * pacedConnections / pacedRate
	command := k.limiting(uniform, "1000000")
	r := bufio.NewReader(conn)
	var took []float64
	began := time.Now()
	due := began.Add(time.Duration(rng.Int64N(int64(every))))
	answered := began
	for due.Sub(began) < b.pacedTime() {
		if err := wait(ctx, time.Until(due)); err != nil {
			return nil, err
		}
		from := time.Now()
		if answered.After(due) {
			from = due // it was held up by the server, not by this program's timer
		}
		if _, err := conn.Write(appendCommand(nil, withKey(nil, command, rng.IntN(b.keys)))); err != nil {
			return nil, err
		}
		if _, err := readReply(r); err != nil {
			return nil, err
		}
		answered = time.Now()
		took = append(took, milliseconds(answered.Sub(from)))
		due = due.Add(every)
	}
	return took, nil
}

// part is the value that a part of all, which ascend, does not exceed.
func part(all []float64, p float64) float64 {
	return all[min(int(p*float64(len(all))), len(all)-1)]
}

// costs measures CPU time, in turns, with what is written in the second after.
func (b *diskBench) costs(ctx context.Context, all []*keeper) error {
	hz, err := ticksPerSecond()
	if err != nil {
		return err
	}
	servers := make([]*process, len(all))
	for i, k := range all {
		if servers[i], err = b.filled(ctx, k, filepath.Join(b.dir, fmt.Sprintf("cost-%d", i))); err != nil {
			return err
		}
		defer servers[i].stop()
	}
	if err := wait(ctx, 2*perSecondSync); err != nil {
		return err
	}
	const depth = 16
	for round := range b.rounds {
		for n := range all {
			i := (n + round) % len(all)
			k, p := all[i], servers[i]
			requests := wholeBatches(b.scale*300_000, depth)
			before, err := cpuTicks(p.pid)
			if err != nil {
				return err
			}
			l := load{addr: p.addr, command: k.limiting(uniform, "1000000"), keys: b.keys, depth: depth, requests: requests}
			if _, err := l.run(ctx); err != nil {
				return err
			}
			if err := wait(ctx, perSecondSync/2); err != nil {
				return err
			}
			after, err := cpuTicks(p.pid)
			if err != nil {
				return err
			}
			cost := float64(after-before) / hz * 1e6 / float64(requests)
			k.cpu = append(k.cpu, cost)
			b.say("round %d of %d  %-30s %.2f CPU s per million", round+1, b.rounds, strings.TrimSpace(k.name), cost)
		}
	}
	return nil
}
