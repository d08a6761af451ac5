package main

import (
	"encoding/binary"
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestParseStat(t *testing.T) {
	// From the state on: fields 3 to 13, utime, stime, children's times, ...
	const rest = " S 1 2 3 4 5 6 7 8 9 10 1200 34 500 600 20 0 8 0 12345"
	for _, tt := range []struct {
		name, stat string
		want       uint64
		bad        bool
	}{
		{name: "plain", stat: "123 (redis-server)" + rest, want: 1234},
		{name: "blanks and parentheses in the name", stat: "123 (a) b (c 1 2 3) R)" + rest, want: 1234},
		{name: "no name", stat: "123 redis-server" + rest, bad: true},
		{name: "cut off", stat: "123 (redis-server) S 1 2 3 4 5 6 7 8 9 10 1200", bad: true},
		{name: "no number", stat: "123 (x)" + strings.Replace(rest, "34", "x", 1), bad: true},
		{name: "empty", bad: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseStat(tt.stat)
			if got != tt.want || (err != nil) != tt.bad {
				t.Errorf("got %d, %v", got, err)
			}
		})
	}
}

func TestParseResident(t *testing.T) {
	got, err := parseResident("Name:\tVmRSS:\nVmHWM:\t  999 kB\nVmRSS:\t  1024 kB\nThreads:\t1\n")
	if got != 1<<20 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
	for _, bad := range []string{"", "VmHWM:\t 1 kB\n", "VmRSS:\t x kB\n"} {
		if got, err := parseResident(bad); err == nil {
			t.Errorf("%q: got %d", bad, got)
		}
	}
}

func TestParseTicks(t *testing.T) {
	vector := func(words ...uint64) []byte {
		var b []byte
		for _, w := range words {
			if strconv.IntSize == 32 {
				b = binary.NativeEndian.AppendUint32(b, uint32(w))
			} else {
				b = binary.NativeEndian.AppendUint64(b, w)
			}
		}
		return b
	}
	// A value that looks like the type must not be taken for it.
	if got, err := parseTicks(vector(6, 17, 17, 250, 0, 0)); got != 250 || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range [][]byte{nil, vector(6, 4096, 0, 0), vector(17), vector(17, 0)} {
		if got, err := parseTicks(bad); err == nil {
			t.Errorf("%v: got %v", bad, got)
		}
	}
}

func TestThisProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc")
	}
	if _, err := cpuTicks(os.Getpid()); err != nil {
		t.Error(err)
	}
	if size, err := residentBytes(os.Getpid()); size < 1<<20 || err != nil {
		t.Errorf("%d bytes, %v", size, err)
	}
	if hz, err := ticksPerSecond(); hz < 1 || err != nil {
		t.Errorf("%v ticks a second, %v", hz, err)
	}
}

func TestParseMachine(t *testing.T) {
	const info = "processor\t: 0\nmodel\t\t: 1\nmodel name\t: Some CPU: 9000\n\nprocessor\t: 1\nmodel name\t: Another\n"
	if got := parseCPU(info); got != "Some CPU: 9000" {
		t.Errorf("got %q", got)
	}
	if got := parseCPU("processor\t: 0\n"); !strings.HasSuffix(got, " processor") {
		t.Errorf("got %q", got)
	}
	got, err := parseRedisVersion("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64\n")
	if got != "7.0.15" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := parseRedisVersion("something else\n"); err == nil {
		t.Errorf("got %q", got)
	}
}
