package state

import (
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/rlserver/rlserver/limit"
)

// The sizes on which memory and speed rest.
func TestSizes(t *testing.T) {
	for name, size := range map[string]struct{ got, want uintptr }{
		"entry":        {unsafe.Sizeof(entry{}), entryBytes},
		"extra":        {unsafe.Sizeof(extra{}), extraBytes},
		"slot":         {unsafe.Sizeof(slot{}), 104},
		"shortcutLine": {unsafe.Sizeof(shortcutLine{}), 64},
		"cells":        {unsafe.Sizeof([sketchCells]cell{}), 64},
		"topShard":     {unsafe.Sizeof(topShard{}), 64},
	} {
		if size.got != size.want {
			t.Errorf("%s has %d bytes, want %d", name, size.got, size.want)
		}
	}
}

func TestNewEntryCopiesKeys(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 17, 31, 32, 33, 64, 512} {
		want := strings.Repeat("k", n)
		key := []byte(want)
		e := newEntry(key)
		for i := range key {
			key[i] = 'x'
		}
		if e.key != want {
			t.Errorf("a key of %d bytes became %q", n, e.key)
		}
	}
}

func TestEntryKeepsBucket(t *testing.T) {
	log := new(limit.Log)
	log.Add(5, 1)
	e, other := newEntry([]byte("k")), newEntry([]byte("other"))
	for i, step := range []struct {
		b     limit.Bucket
		next  *entry
		extra bool
	}{
		{limit.Bucket{A: 1, B: 2}, nil, false},
		{limit.Bucket{A: 1, B: 2, C: 3}, nil, true},
		{limit.Bucket{A: 4, B: 5}, nil, false},
		{limit.Bucket{Log: log}, nil, true},
		{limit.Bucket{Log: log}, other, true},
		{limit.Bucket{A: 1}, other, true},
		{limit.Bucket{A: 1}, nil, false},
	} {
		e.put(&step.b)
		e.setNext(step.next)
		if got := e.bucket(); got != step.b {
			t.Errorf("step %d: bucket = %+v, want %+v", i, got, step.b)
		}
		if e.next() != step.next || (e.ext != nil) != step.extra {
			t.Errorf("step %d: next = %v, ext = %v", i, e.next(), e.ext)
		}
	}
}

func TestIdle(t *testing.T) {
	const step = int64(1) << stepShift
	year := 365 * day
	for _, tt := range []struct {
		name       string
		since      int64 // since the last admission
		least, max int64
	}{
		{"at once", 0, 0, 0},
		{"a minute", 60 * second, 60*second - 2*step, 60 * second},
		{"a day", day, day - 2*step, day},
		{"31 years", 31 * year, 31*year - 2*step, 31 * year},
		{"set back a millisecond", -1e6, 0, 0},
		{"set back a year", -year, 0, 0},
		{"set back 4 years", -4 * year, 0, 0},
	} {
		for _, seen := range []int64{0, 1, step - 1, step, start, start + 12345678, 1<<60 - 1, 1 << 60} {
			e := entry{seen: steps(seen)}
			if got := e.idle(seen + tt.since); got < tt.least || got > tt.max {
				t.Errorf("%s after %d: idle = %s, want %s to %s", tt.name, seen,
					time.Duration(got), time.Duration(tt.least), time.Duration(tt.max))
			}
		}
	}
}

func TestKeyBytes(t *testing.T) {
	for n, want := range map[int]int64{0: 0, 1: 16, 16: 16, 17: 32, 32: 32, 33: 48, 256: 256, 257: 288, 512: 512} {
		if got := keyBytes(n); got != want {
			t.Errorf("keyBytes(%d) = %d, want %d", n, got, want)
		}
	}
}
