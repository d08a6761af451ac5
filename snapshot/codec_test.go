package snapshot

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/state"
)

// exact is the clock of a reader that lives in the writer's time.
func exact(written int64) int64 { return written }

func TestWhatIsWrittenIsRead(t *testing.T) {
	want := oneOfEach()
	empty := &Slot{Slot: 5, Version: 1 << 63, Sequence: 1<<64 - 1, Written: start}
	file := write(t, true, want, empty)
	f := read(iotest.OneByteReader(bytes.NewReader(file)), exact)
	if !errors.Is(f.err, io.EOF) || len(f.errs) > 0 || len(f.slots) != 2 {
		t.Fatalf("%d slots, %v, %v", len(f.slots), f.errs, f.err)
	}
	want.Records[5].Bucket.A = want.Written // full: since when is not kept
	same(t, f.slots[0], want)
	same(t, f.slots[1], empty)
	r := f.reader
	if h := r.Header(); h != (Header{Written: start, Node: "node-1", Number: 9}) {
		t.Errorf("header %+v", h)
	}
	if !r.Clean() || !r.Ended() || r.Offset() != int64(len(file)) {
		t.Errorf("clean = %t, ended = %t, offset = %d", r.Clean(), r.Ended(), r.Offset())
	}
	if c := r.Counts(); c != (Counts{Sections: 5, Records: 10}) {
		t.Errorf("counts %+v", c)
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("behind the end: %v", err)
	}
}

// TestSlotInSections: a slot too large for a section comes in several, also in
// the midst of a log.
func TestSlotInSections(t *testing.T) {
	want := &Slot{Slot: 1, Version: 2, Sequence: 3, Written: start}
	log := limit.Spec{Algorithm: limit.SlidingLog, Limit: 200_000, Window: day, Burst: 200_000}
	long := new(limit.Log)
	for i := range int64(100_000) {
		long.Add(start-day+1+i*1000, 1+i%2)
	}
	for i := range 3000 {
		key := bytes.Repeat([]byte{byte(i), byte(i >> 8)}, 20)
		r := state.Record{Key: key, Spec: rule(limit.TokenBucket), Bucket: limit.Bucket{A: start + int64(i)}}
		if i == 1000 || i == 2999 {
			r.Spec, r.Bucket = log, limit.Bucket{Log: long}
		}
		want.Records = append(want.Records, r)
	}
	for _, i := range []int{7, 1000} { // a short bucket, and a long log
		want.Records[i].Key = bytes.Repeat([]byte("k"), maxKey)
	}
	f := read(bytes.NewReader(write(t, false, want)), exact)
	if !errors.Is(f.err, io.EOF) || len(f.errs) > 0 || !f.reader.Ended() {
		t.Fatalf("%v, %v", f.errs, f.err)
	}
	if len(f.slots) < 5 {
		t.Errorf("%d sections, want more", len(f.slots))
	}
	got := *f.slots[0]
	for _, s := range f.slots[1:] {
		got.Records = append(got.Records, s.Records...)
	}
	same(t, &got, want)
}

// TestPartOfLogMissing: a log of which a part rotted is not taken for a smaller one.
func TestPartOfLogMissing(t *testing.T) {
	spec := limit.Spec{Algorithm: limit.SlidingLog, Limit: 200_000, Window: day, Burst: 200_000}
	log := new(limit.Log)
	for i := range int64(3 * partEntries) {
		log.Add(start-day+1+i, 1)
	}
	other := state.Record{Key: []byte("other"), Spec: rule(limit.TokenBucket), Bucket: limit.Bucket{A: start + 1}}
	s := &Slot{Written: start, Records: []state.Record{{Key: []byte("k"), Spec: spec, Bucket: limit.Bucket{Log: log}}, other}}
	file := write(t, false, s)
	for part := range 3 {
		torn := bytes.Clone(file)
		torn[100+part*3*8192]++
		f := read(bytes.NewReader(torn), exact)
		records := 0
		for _, s := range f.slots {
			for i := range s.Records {
				records++
				if string(s.Records[i].Key) != "other" {
					t.Errorf("part %d: %.80s", part, text(&s.Records[i]))
				}
			}
		}
		if len(f.errs) != 1 || f.reader.Counts().Lost == 0 || records > 1 {
			t.Errorf("part %d: %v, %+v, %d records", part, f.errs, f.reader.Counts(), records)
		}
	}
}

func TestWriterRefuses(t *testing.T) {
	var file bytes.Buffer
	if _, err := NewWriter(&file, Header{Node: strings.Repeat("n", maxNode+1)}); err == nil {
		t.Error("a long name of a node was taken")
	}
	if _, err := NewWriter(&file, Header{Written: -1}); err == nil {
		t.Error("a time before 1970 was taken")
	}
	w, err := NewWriter(&file, Header{})
	if err != nil {
		t.Fatal(err)
	}
	before := file.Len()
	good := state.Record{Key: []byte("k"), Spec: rule(0)}
	for _, bad := range []state.Record{
		{Key: make([]byte, maxKey+1), Spec: rule(0)},
		{Key: []byte("k")},
		{Key: []byte("k"), Spec: limit.Spec{Limit: 1, Window: second, Burst: 1, Algorithm: limit.AlgorithmCount}},
		{Key: []byte("k"), Spec: limit.Spec{Limit: 1, Window: second}},
	} {
		if err := w.Slot(&Slot{Records: []state.Record{good, bad}}); err == nil || file.Len() != before {
			t.Errorf("%+v: %v, %d bytes", bad.Spec, err, file.Len()-before)
		}
	}
	w, err = NewWriter(iotest.TruncateWriter(io.Discard, 0), Header{})
	if err != nil {
		t.Fatal(err)
	}
	w.w = failing{}
	if err := w.Slot(&Slot{}); !errors.Is(err, errDisk) {
		t.Error(err)
	}
	if err := w.End(); !errors.Is(err, errDisk) {
		t.Error("the error does not stick:", err)
	}
}

var errDisk = errors.New("no space left on device")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errDisk }
