package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	changeConnections = 64
	// namesEach is how many policies each connection sets, one after the other
	// and again, each time with another limit: every request is a change.
	namesEach = 100
)

// changeDepths are the changes that a connection sends before it waits.
var changeDepths = [...]int{1, 16}

// changeRow is a line of the table of changes.
type changeRow struct {
	name    string
	of      []*process // a lone node, or all of a cluster
	leader  bool       // asks the leader; else another, if there is another
	depth   int
	samples []changeSample // by round
}

// changeSample is what one run gave. Latencies are in milliseconds, from the
// moment in which a change was sent until its reply was read. Refused are those
// that the cluster could not take, since it had no leader.
type changeSample struct{ perSecond, p50, p99, refused float64 }

// changeTime is how long a line is measured in a round.
func (o *options) changeTime() time.Duration {
	return time.Duration(10 * o.scale * float64(time.Second))
}

// changes measures how many changes of policies a second a lone node takes, and
// a cluster of three through its leader and through a follower.
func (b *bench) changes(ctx context.Context, dir string) ([]changeRow, error) {
	nodes, stop, err := b.startCluster(ctx, dir)
	defer stop()
	if err != nil {
		return nil, err
	}
	lone, err := b.startNode(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer lone.stop()

	var rows []changeRow
	for _, depth := range changeDepths {
		rows = append(rows,
			changeRow{name: "a lone node", of: []*process{lone}, leader: true, depth: depth},
			changeRow{name: "the leader of three", of: nodes, leader: true, depth: depth},
			changeRow{name: "a follower of three", of: nodes, depth: depth})
	}
	for round := range b.rounds {
		for i := range rows {
			r := &rows[i]
			addr, err := pick(ctx, r.of, r.leader)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.name, err)
			}
			s, err := change(ctx, addr, r.depth, b.changeTime())
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.name, err)
			}
			b.say("round %d of %d  %s, pipeline %d  %.0f changes/s, p50 %.2f ms, p99 %.2f ms", round+1, b.rounds, r.name, r.depth, s.perSecond, s.p50, s.p99)
			r.samples = append(r.samples, s)
		}
	}
	return rows, b.agree(ctx, nodes)
}

// agree fails unless all nodes come to have all policies.
func (b *bench) agree(ctx context.Context, nodes []*process) error {
	want := strconv.Itoa(changeConnections * namesEach)
	if b.changeTime() < 10*time.Second {
		return nil // there may have been no time to set all of them
	}
	for _, node := range nodes {
		if err := waitFor(ctx, node.addr, "policies", want); err != nil {
			return err
		}
	}
	return nil
}

// change sends changes for a while, over all connections.
func change(ctx context.Context, addr string, depth int, length time.Duration) (changeSample, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	took := make([][]float64, changeConnections)
	refused := make([]int, changeConnections)
	began := time.Now()
	var all sync.WaitGroup
	for i := range took {
		all.Go(func() {
			var err error
			if took[i], refused[i], err = changeOver(ctx, addr, i, depth, began.Add(length)); err != nil {
				cancel(err) // the first ends the others
			}
		})
	}
	all.Wait()
	seconds := time.Since(began).Seconds()
	if err := context.Cause(ctx); err != nil {
		return changeSample{}, err
	}
	each := slices.Concat(took...)
	slices.Sort(each)
	s := changeSample{perSecond: float64(len(each)) / seconds, p50: quantile(each, 0.5), p99: quantile(each, 0.99)}
	for _, n := range refused {
		s.refused += float64(n)
	}
	return s, nil
}

// changeOver sends changes over one connection, some at a time, and returns
// how long each took that was made.
func changeOver(ctx context.Context, addr string, number, depth int, until time.Time) (took []float64, refused int, _ error) {
	conn, hangUp, err := dial(ctx, addr)
	if err != nil {
		return nil, 0, err
	}
	defer hangUp()
	r := bufio.NewReader(conn)
	var request []byte
	// Limits go up from run to run, so that none sets what is set already.
	limit := time.Now().UnixMilli() % 1_000_000_000
	for next := 0; time.Now().Before(until); {
		request = request[:0]
		for range depth {
			name := fmt.Sprintf("bench:%d:%d", number, next%namesEach)
			request = appendCommand(request, []string{"RL.POLICY.SET", name, "LIMIT", strconv.FormatInt(limit+int64(next), 10), "WINDOW", "1h", "CLIENT", name})
			next++
		}
		began := time.Now()
		if _, err := conn.Write(request); err != nil {
			return nil, 0, err
		}
		for range depth {
			_, err := readReply(r)
			switch {
			case err == nil:
				took = append(took, milliseconds(time.Since(began)))
			case errors.Is(err, errAnswer) && strings.Contains(err.Error(), "TRYAGAIN"):
				refused++
			default:
				return nil, 0, err
			}
		}
	}
	return took, refused, nil
}

// quantile is the smallest of ascending xs that a share of them does not
// exceed; NaN when there are none.
func quantile(xs []float64, share float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	return xs[max(0, int(math.Ceil(share*float64(len(xs))))-1)]
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }
