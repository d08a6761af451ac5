package snapshot

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/state"
)

// Print writes for people what r holds: a line for the file, each slot, each
// bucket as it was when it was written, and each section that is damaged. The
// error is that of w, or the one after which nothing more can be read.
func Print(w io.Writer, r io.Reader) error {
	p := printer{bufio.NewWriter(w)}
	err := p.all(r)
	return errors.Join(err, p.out.Flush())
}

type printer struct{ out *bufio.Writer }

// put writes text. If that fails, Flush says so.
func (p printer) put(format string, args ...any) { _, _ = fmt.Fprintf(p.out, format, args...) }

func (p printer) all(file io.Reader) error {
	inWritersTime := func(written int64) int64 { return written }
	r, err := NewReader(file, inWritersTime)
	if err != nil {
		return err
	}
	h := r.Header()
	p.put("format %d, node %q, number %d, begun %s\n", Version, h.Node, h.Number, instant(h.Written))
	for {
		s, err := r.Next()
		switch {
		case err == nil:
			p.slot(s)
		case errors.Is(err, io.EOF):
			p.end(r)
			return nil
		case errors.Is(err, ErrCorrupt):
			p.put("%v\n", err)
		default:
			return err
		}
	}
}

func (p printer) slot(s *Slot) {
	p.put("slot %d, version %d, sequence %d, written %s", s.Slot, s.Version, s.Sequence, instant(s.Written))
	if s.LossAt != 0 {
		p.put(", counts lost %s before", time.Duration(s.Written-s.LossAt))
	}
	p.put("\n")
	for i := range s.Records {
		p.record(&s.Records[i], s.Written)
	}
}

func (p printer) record(r *state.Record, now int64) {
	kind := "key"
	if r.Policy {
		kind = "policy's"
	}
	if r.Strict {
		kind = "strict " + kind
	}
	switch {
	case r.All:
		p.put("  everything is gone\n")
	case r.Gone:
		p.put("  %s %q is gone\n", kind, r.Key)
	default:
		p.put("  %s %q, %s %d per %s", kind, r.Key, r.Spec.Algorithm, r.Spec.Limit, limit.FormatWindow(r.Spec.Window))
		if r.Spec.Burst != r.Spec.Limit {
			p.put(" burst %d", r.Spec.Burst)
		}
		p.put(": %d of %d remain, full in %s\n",
			limit.Remaining(r.Spec, &r.Bucket, now), r.Spec.Capacity(), time.Duration(limit.FullIn(r.Spec, &r.Bucket, now)))
	}
}

func (p printer) end(r *Reader) {
	if r.Clean() {
		p.put("clean stop\n")
	}
	end := "end"
	if !r.Ended() {
		end = "no end, as in a journal"
	}
	c := r.Counts()
	p.put("%s: %d sections, %d records, %d corrupt, %d skipped\n", end, c.Sections, c.Records, c.Corrupt, c.Skipped)
}

func instant(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
