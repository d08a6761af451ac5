package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ms     = int64(1e6)
	second = int64(1e9)
	day    = 24 * 3600 * second
	start  = 1_800_000_000 * second // when tests begin
)

// rule is 100 per minute, or what the algorithm makes of it.
func rule(a limit.Algorithm) limit.Spec {
	return limit.Spec{Algorithm: a, Limit: 100, Window: 60 * second, Burst: 100}
}

// used is the bucket of a key that took units of spec at an instant.
func used(spec limit.Spec, units, at int64) (b limit.Bucket) {
	limit.Decide(spec, spec, &b, at, limit.Request{Cost: units})
	return b
}

// oneOfEach is a slot with a record of every kind.
func oneOfEach() *Slot {
	s := &Slot{Slot: 16383, Version: 7, Sequence: 300, Written: start + 5*second, LossAt: start - second}
	for _, a := range limit.Algorithms() {
		b := used(rule(a), 30, start)
		spec := rule(a)
		limit.Decide(spec, spec, &b, start+second/3, limit.Request{Cost: 2})
		s.Records = append(s.Records, state.Record{Key: []byte(a.String()), Spec: rule(a), Bucket: b})
	}
	slow := limit.Spec{Limit: 3, Window: 7 * day, Burst: 5}
	s.Records = append(s.Records,
		state.Record{Key: []byte("full"), Policy: true, Strict: true, Spec: slow},
		state.Record{Key: []byte{0, 1, 255}, Policy: true, Spec: slow, Bucket: used(slow, 5, start)},
		state.Record{Key: []byte("gone"), Gone: true},
		state.Record{Key: []byte("gone too"), Policy: true, Gone: true},
		state.Record{Gone: true, All: true},
	)
	return s
}

// write returns a whole file with these slots.
func write(tb rapid.TB, clean bool, slots ...*Slot) []byte {
	tb.Helper()
	var file bytes.Buffer
	w, err := NewWriter(&file, Header{Written: start, Node: "node-1", Number: 9})
	if err != nil {
		tb.Fatal(err)
	}
	for _, s := range slots {
		if err := w.Slot(s); err != nil {
			tb.Fatal(err)
		}
	}
	if clean {
		err = w.Clean()
	}
	if err := errors.Join(err, w.End()); err != nil {
		tb.Fatal(err)
	}
	if w.Size() != int64(file.Len()) {
		tb.Fatalf("Size = %d, want %d", w.Size(), file.Len())
	}
	return file.Bytes()
}

// found is all that a reader told.
type found struct {
	reader *Reader
	slots  []*Slot
	errs   []*SectionError // of sections after which it went on
	err    error           // the last one, io.EOF as a rule
}

// read reads until there is no going on. Slots' buckets are of now.
func read(file io.Reader, clock Clock) (f found) {
	f.reader, f.err = NewReader(file, clock)
	for f.err == nil {
		s, err := f.reader.Next()
		var wrong *SectionError
		switch {
		case err == nil:
			f.slots = append(f.slots, clone(s))
		case errors.As(err, &wrong) && errors.Is(err, ErrCorrupt):
			f.errs = append(f.errs, wrong)
		default:
			f.err = err
		}
	}
	return f
}

func clone(s *Slot) *Slot {
	c := *s
	c.Records = nil
	for _, r := range s.Records {
		r.Key = bytes.Clone(r.Key)
		c.Records = append(c.Records, r)
	}
	return &c
}

// text is a bucket in a form that can be compared: a log's entries are behind
// a pointer.
func text(r *state.Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q policy=%t strict=%t gone=%t all=%t %+v A=%d B=%d C=%d",
		r.Key, r.Policy, r.Strict, r.Gone, r.All, r.Spec, r.Bucket.A, r.Bucket.B, r.Bucket.C)
	for at, units := range r.Bucket.Log.All() {
		fmt.Fprintf(&b, " %d:%d", at, units)
	}
	return b.String()
}

// same fails unless both slots say the same.
func same(tb rapid.TB, got, want *Slot) {
	tb.Helper()
	g, w := *got, *want
	g.Records, w.Records = nil, nil
	if fmt.Sprint(g) != fmt.Sprint(w) {
		tb.Errorf("slot %+v, want %+v", g, w)
	}
	if len(got.Records) != len(want.Records) {
		tb.Fatalf("%d records, want %d", len(got.Records), len(want.Records))
	}
	for i := range got.Records {
		if g, w := text(&got.Records[i]), text(&want.Records[i]); g != w {
			tb.Errorf("record %d:\n got %s\nwant %s", i, g, w)
		}
	}
}
