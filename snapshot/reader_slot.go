package snapshot

import (
	"errors"
	"math"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/state"
)

// maxInstant is the latest instant that may be written. With it no sum of an
// instant and a duration overflows in what uses them.
const maxInstant = math.MaxInt64 / 2

// readSlot reads a slot's section into r.slot.
func (r *Reader) readSlot(d *decoder) error {
	s := &r.slot
	*s = Slot{Records: s.Records[:0]}
	s.Slot = uint16(d.below(state.Slots - 1))
	s.Version, s.Sequence = d.number(), d.number()
	s.Written = r.header.Written + d.signed()
	if s.Written < 0 || s.Written > maxInstant {
		d.fail(errRange)
	}
	now := r.clock(s.Written)
	if ago := d.below(math.MaxInt64); ago > 0 {
		s.LossAt = max(now-(ago-1), 1)
	}
	r.readSpecs(d)
	for len(d.rest) > 0 {
		r.readRecord(d, now)
	}
	if d.err != nil {
		return corrupt(d.err)
	}
	return nil
}

func (r *Reader) readSpecs(d *decoder) {
	n := d.count()
	if n > maxSpecs {
		d.fail(errRange)
		return
	}
	r.specs = r.specs[:0]
	for range n {
		spec := limit.Spec{
			Algorithm: limit.Algorithm(d.byte()),
			Limit:     d.below(limit.MaxUnits),
			Window:    d.below(limit.MaxWindow),
			Burst:     d.below(limit.MaxUnits),
		}
		if d.err != nil {
			return
		}
		if err := checkSpec(spec); err != nil {
			d.fail(err)
			return
		}
		r.specs = append(r.specs, spec)
	}
}

// readRecord adds the next record to the slot, or to the log it goes on with.
func (r *Reader) readRecord(d *decoder, now int64) {
	flags := d.byte()
	record := state.Record{
		Policy: flags&flagPolicy != 0,
		Strict: flags&flagStrict != 0,
		Gone:   flags&flagGone != 0,
		All:    flags&flagAll != 0,
	}
	if flags >= flagsEnd || record.All && !record.Gone || record.Gone && flags&(flagMore|flagRest) != 0 {
		d.fail(errors.New("unknown flags"))
		return
	}
	if flags&flagRest == 0 {
		r.drop()
	}
	r.counts.Records++
	if !record.All {
		n := d.count()
		if n > maxKey {
			d.fail(errRange)
		}
		record.Key = d.bytes(n)
	}
	if record.Gone {
		r.add(d, record)
		return
	}
	i := d.number()
	if i >= uint64(len(r.specs)) {
		d.fail(errors.New("a rule that is not there"))
		return
	}
	record.Spec = r.specs[i]
	if record.Spec.Algorithm == limit.SlidingLog {
		r.readLog(d, record, flags, now)
		return
	}
	if flags&(flagMore|flagRest) != 0 {
		d.fail(errors.New("only logs have parts"))
		return
	}
	record.Bucket = d.bucket(record.Spec, now)
	r.add(d, record)
}

// readLog reads a log or a part of one.
func (r *Reader) readLog(d *decoder, record state.Record, flags byte, now int64) {
	p := &r.part
	if flags&flagRest == 0 {
		*p = part{record: record, slot: r.slot.Slot}
		p.record.Key = append([]byte(nil), record.Key...)
		p.record.Bucket.Log = new(limit.Log)
	}
	missing := p.record.Bucket.Log == nil || p.slot != r.slot.Slot ||
		string(p.record.Key) != string(record.Key) || p.record.Policy != record.Policy || p.record.Spec != record.Spec
	if missing { // what came before was corrupt
		r.counts.Lost++
		p = &part{}
		p.record.Bucket.Log = new(limit.Log)
	}
	p.entries, p.units = d.log(record.Spec, p.record.Bucket.Log, now, p.entries, p.units)
	if missing || flags&flagMore != 0 {
		return
	}
	record.Bucket.Log = p.record.Bucket.Log
	r.part = part{}
	r.add(d, record)
}

// drop gives up a log whose rest did not come.
func (r *Reader) drop() {
	if r.part.record.Bucket.Log != nil {
		r.counts.Lost++
	}
	r.part = part{}
}

func (r *Reader) add(d *decoder, record state.Record) {
	if d.err == nil {
		r.slot.Records = append(r.slot.Records, record)
	}
}
