package commands

import (
	"sync/atomic"

	"github.com/rlserver/rlserver/resp"
)

// Commands that are not fast are timed one by one. Decisions and the other
// fast ones do not pay for a clock each: one of sampleEvery is timed and stands
// for the others, and the clock is read once for a batch of decisions, when
// their replies are about to leave.

// sampleEvery is of how many runs of a fast command, under one name and in one
// lane of its counter, one is timed: the first and every one that follows so
// many others.
const sampleEvery = 64

// runTimes sums up the runs that were timed of one command.
type runTimes struct {
	runs    atomic.Uint64
	nanos   atomic.Int64
	buckets [histogramBuckets]atomic.Uint64 // each without those below it
}

// histogramBuckets end at 1, 2, 4, ... microseconds as Redis' do; the last one
// has no end.
const histogramBuckets = 21

// histogramBound is the longest time, in nanoseconds, of a bucket. Redis'
// histogram keeps seven bits of a number, so a bound is the last number that
// it takes for a power of two; it takes what is longer than a second for one.
func histogramBound(bucket int) int64 {
	power := int64(1024) << bucket
	if bucket == histogramBuckets-1 {
		return power - 1
	}
	return power + power/128 - 1
}

func (t *runTimes) add(nanos int64) {
	bucket := 0
	for bucket < histogramBuckets-1 && nanos > histogramBound(bucket) {
		bucket++
	}
	t.runs.Add(1)
	t.nanos.Add(nanos)
	t.buckets[bucket].Add(1)
}

func (t *runTimes) reset() {
	t.runs.Store(0)
	t.nanos.Store(0)
	for i := range t.buckets {
		t.buckets[i].Store(0)
	}
}

// usec is what calls runs took in microseconds, by those of them that were
// timed.
func (t *runTimes) usec(calls uint64) int64 {
	runs := t.runs.Load()
	if runs == 0 {
		return 0
	}
	return int64(float64(t.nanos.Load()) / float64(runs) * float64(calls) / 1000)
}

// timed runs a command and measures it.
func (c *Call) timed(e *entry) error {
	begun := c.d.cfg.Clock()
	err := e.Run(c)
	took := max(c.d.cfg.Clock()-begun, 0)
	e.stats.times.add(took)
	if e.Flags&FlagFast != 0 {
		c.d.latency.note(LatencyFastCommand, c.Now, took)
		return err
	}
	c.d.latency.note(LatencyCommand, c.Now, took)
	c.d.slow.note(c, took)
	return err
}

// Settle asks once, for all decisions of a batch, whether they still hold, and
// measures the batch.
func (d *Dispatcher) Settle(s *resp.Session, decided []resp.Decided) {
	if p := d.cfg.Persistence; p != nil {
		p.Durable() // it may take a while, so that what follows comes after it
	}
	may := d.cfg.Ownership.MayAnswer()
	for i := range decided {
		if !may || !d.cfg.Ownership.Holds(decided[i].Slot, decided[i].Version) {
			decided[i].Lost = true
		}
	}
	begun := s.Context.(*Call).Now
	took := max(d.cfg.Clock()-begun, 0)
	d.latency.note(LatencyFastCommand, begun, took)
	if d.cfg.Events.Decided != nil {
		d.cfg.Events.Decided(s.ID(), took, len(decided))
	}
}
