package admin

import (
	"sync"
	"time"
)

// The page shows the last minute, second by second.
const (
	sampleEvery = time.Second
	samplesKept = 61 // a minute lies between the first and the last
)

// sample is what the page needs of an earlier reading.
type sample struct {
	at        int64 // Unix nanoseconds
	decisions Outcomes
	latency   Histogram
}

// history keeps the samples of the last minute.
type history struct {
	mu      sync.Mutex
	samples []sample // oldest first, at most samplesKept
}

// keepHistory takes a sample each second until the server stops.
func (s *Server) keepHistory() {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		snapshot := s.cfg.Node.Snapshot()
		s.history.add(sampleOf(&snapshot, s.cfg.Now()))
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func sampleOf(s *Snapshot, now int64) sample {
	return sample{at: now, decisions: s.decisions(), latency: s.Latency}
}

func (h *history) add(s sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.samples) == samplesKept {
		h.samples = h.samples[:copy(h.samples, h.samples[1:])]
	}
	h.samples = append(h.samples, s)
}

// lately is what the samples say of the last minute.
type lately struct {
	perSecond, deniedPerSecond float64     // over the last seconds
	deniedShare                float64     // 0 to 1, of the whole minute
	decisions                  uint64      // in the whole minute
	latency                    Histogram   // of the whole minute
	seconds                    []perSecond // oldest first
}

// perSecond are the rates between two samples.
type perSecond struct{ allowed, denied float64 }

// rateOver is how many seconds the rates that are shown as numbers look back:
// short enough to be now, long enough to be read.
const rateOver = 5

// lately ends with now, a sample that is not kept.
func (h *history) lately(now sample) (l lately) {
	h.mu.Lock()
	samples := append(make([]sample, 0, samplesKept+1), h.samples...)
	h.mu.Unlock()
	for i := 1; i < len(samples); i++ {
		l.seconds = append(l.seconds, rates(samples[i-1], samples[i]))
	}
	if len(samples) == 0 {
		return l
	}
	oldest := samples[0]
	recent := rates(samples[max(len(samples)-rateOver, 0)], now)
	l.perSecond, l.deniedPerSecond = recent.allowed+recent.denied, recent.denied
	l.latency = now.latency.since(&oldest.latency)
	allowed, denied := now.decisions.Allowed-oldest.decisions.Allowed, now.decisions.Denied-oldest.decisions.Denied
	if l.decisions = allowed + denied; l.decisions > 0 {
		l.deniedShare = float64(denied) / float64(l.decisions)
	}
	return l
}

// rates are those between two samples; none where no time lies between them.
func rates(from, to sample) perSecond {
	seconds := float64(to.at-from.at) / 1e9
	if seconds <= 0 {
		return perSecond{}
	}
	return perSecond{
		allowed: float64(to.decisions.Allowed-from.decisions.Allowed) / seconds,
		denied:  float64(to.decisions.Denied-from.decisions.Denied) / seconds,
	}
}
