package commands_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/rlserver/rlserver/commands"
)

// timedWorld is one whose commands and batches are measured by its only clock,
// which also counts how often it is read.
func timedWorld(t *testing.T, change ...func(*commands.Config)) (w *world, readings *int) {
	t.Helper()
	w, readings = newWorld(t), new(int)
	cfg := w.config()
	cfg.Clock = func() int64 {
		*readings++
		w.now += w.took
		return w.now
	}
	for _, c := range change {
		c(&cfg)
	}
	w.serve(t, cfg)
	return w, readings
}

// Of fast commands one in 64 is timed, and a batch once.
func TestTimingReadsTheClockSeldom(t *testing.T) {
	w, readings := timedWorld(t)
	w.send([]byte(strings.Repeat("RL.ALLOW k 1000 1h\r\n", 640)))
	if most := 2*640/64 + 5; *readings > most { // some batches
		t.Errorf("the clock was read %d times, want at most %d", *readings, most)
	}
	*readings = 0
	w.send([]byte(strings.Repeat("PING\r\n", 640)))
	if want := 2 * 640 / 64; *readings != want {
		t.Errorf("the clock was read %d times for PING, want %d", *readings, want)
	}
}

// The runs that are timed stand for the others.
func TestTimingEstimates(t *testing.T) {
	w, _ := timedWorld(t)
	for i := range 640 {
		w.took = 0
		if i%64 == 0 {
			w.took = 25_000
		}
		w.send([]byte("RL.ALLOW k 1000 1h\r\n"))
	}
	w.took = 0
	out, _ := w.send([]byte("INFO commandstats\r\n"))
	if want := "cmdstat_rl.allow:calls=640,usec=16000,usec_per_call=25.00,"; !strings.Contains(string(out), want) {
		t.Errorf("want %s in\n%s", want, out)
	}
	out, _ = w.send([]byte("LATENCY HISTOGRAM rl.allow\r\n"))
	if got, want := show(t, out), "[\"rl.allow\" [\"calls\" 640 \"histogram_usec\" [33 640]]]\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What a batch took, from when it was read until its replies may leave, is
// told once for all of its decisions, and is an event if it was long.
func TestTimingOfBatches(t *testing.T) {
	type told struct {
		lane, nanos int64
		n           int
	}
	var got []told
	w, _ := timedWorld(t, func(cfg *commands.Config) {
		cfg.Events.Decided = func(lane, nanos int64, n int) { got = append(got, told{lane, nanos, n}) }
	})
	w.send([]byte("CONFIG SET latency-monitor-threshold 100\r\n"))
	w.send([]byte("PING\r\nRL.ALLOW k 9 1h\r\n")) // the first runs are timed
	got = nil
	w.took = 120_000_000
	w.send([]byte("RL.ALLOW k 9 1h\r\nPING\r\nRL.ALLOW k 9 1h\r\n"))
	w.took = 0
	w.send([]byte("PING\r\n"))
	if want := (told{w.session.ID(), 120_000_000, 2}); len(got) != 1 || got[0] != want {
		t.Errorf("told %v, want %v once", got, want)
	}
	out, _ := w.send([]byte("LATENCY LATEST\r\n"))
	at := strconv.FormatInt(start/1_000_000_000, 10)
	if got, want := show(t, out), `[["fast-command" `+at+" 120 120]]\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Of an event the last 160 seconds are kept, and the worst of all times.
func TestTookIsBounded(t *testing.T) {
	w := newWorld(t)
	w.send([]byte("CONFIG SET latency-monitor-threshold 1\r\n"))
	const second, ms = int64(1_000_000_000), int64(1_000_000)
	w.handler.Took(commands.LatencySweep, start, ms-1)
	for i := range int64(200) {
		w.handler.Took(commands.LatencySweep, start+i*second, (1000-i)*ms)
		w.handler.Took(commands.LatencySweep, start+i*second+1, ms)
	}
	out, _ := w.send([]byte("LATENCY HISTORY sweep\r\n"))
	if got := show(t, out); strings.Count(got, " ") != 2*160-1 || !strings.HasSuffix(got, " 801]]\n") {
		t.Errorf("history %s", got)
	}
	out, _ = w.send([]byte("LATENCY LATEST\r\n"))
	if got, want := show(t, out), "[[\"sweep\" "+strconv.FormatInt(start/second+199, 10)+" 801 1000]]\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, event := range []commands.LatencyEvent{commands.LatencyCommand, commands.LatencyEviction, commands.LatencyFastCommand} {
		w.handler.Took(event, start, ms)
	}
	out, _ = w.send([]byte("LATENCY DOCTOR\r\n"))
	for _, event := range []string{"command: ", "eviction: ", "fast-command: ", "sweep: "} {
		if !strings.Contains(string(out), event) {
			t.Errorf("the doctor does not speak of %s\n%s", event, out)
		}
	}
}
