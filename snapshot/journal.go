package snapshot

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlserver/rlserver/state"
)

// The names of files: buckets-000042.snapshot holds all that was known when
// journal 42 began, buckets-000042.journal what changed since. Numbers rise.
const (
	namePrefix     = "buckets-"
	snapshotSuffix = ".snapshot"
	journalSuffix  = ".journal"
	unfinished     = ".tmp"     // behind the name of a snapshot that is being written
	asideSuffix    = ".damaged" // behind the name of a file that could not be read completely
)

func nameOf(number uint64, suffix string) string {
	return fmt.Sprintf("%s%06d%s", namePrefix, number, suffix)
}

// numberOf is the number in a name with that suffix.
func numberOf(name, suffix string) (uint64, bool) {
	rest, isOurs := strings.CutPrefix(name, namePrefix)
	digits, isKind := strings.CutSuffix(rest, suffix)
	n, err := strconv.ParseUint(digits, 10, 63)
	return n, isOurs && isKind && err == nil
}

// output is a file of sections that is being written.
type output struct {
	name string
	file File
	buf  *bufio.Writer
	w    *Writer
}

func (d *Disk) create(name string, number uint64, now int64) (*output, error) {
	file, err := d.c.FS.Create(name)
	if err != nil {
		return nil, err
	}
	o := &output{name: name, file: file, buf: bufio.NewWriterSize(file, fullSection)}
	o.w, err = NewWriter(o.buf, Header{Written: max(now, 0), Node: d.c.Node, Number: number})
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return o, nil
}

// slot writes records of a slot at now.
func (o *output) slot(d *Disk, slot uint16, lossAt int64, records []state.Record, now int64) error {
	if slices.ContainsFunc(records, tooLong) {
		// One key that no file takes must not stop all others.
		all := len(records)
		records = slices.DeleteFunc(records, tooLong)
		d.count.tooLong.Add(int64(all - len(records)))
	}
	m := d.meta(slot)
	return o.w.Slot(&Slot{
		Slot: slot, Version: m.Version, Sequence: m.Sequence, Written: now, LossAt: lossAt, Records: records,
	})
}

func tooLong(r state.Record) bool { return len(r.Key) > maxKey }

func (d *Disk) meta(slot uint16) (m SlotState) {
	if d.c.Meta != nil {
		m.Version, m.Sequence = d.c.Meta(slot)
	}
	return m
}

// sync has all that was written durable, unless nobody wants that.
func (o *output) sync(d *Disk, wanted bool) error {
	if err := o.buf.Flush(); err != nil || !wanted {
		return err
	}
	d.count.syncs.Add(1)
	return o.file.Sync()
}

// begin makes the next journal the one that changes are written to. When it
// returns, its name is durable: a crash from now on is told from a clean stop.
func (d *Disk) begin(now int64) error {
	d.number++
	name := nameOf(d.number, journalSuffix)
	next, err := d.create(name, d.number, now)
	if err != nil {
		return err
	}
	if err := errors.Join(next.sync(d, true), d.c.FS.Sync()); err != nil {
		return errors.Join(err, next.file.Close())
	}
	if d.journal != nil {
		err = d.journal.file.Close()
	}
	d.journal = next
	return err
}

// writeChanges writes all that changed since it was last called.
func (d *Disk) writeChanges(now int64) error {
	if now-d.looked >= syncEvery || now < d.looked {
		if err := d.room(0); err != nil {
			return err
		}
		d.looked = now
	}
	d.written = now
	o := d.journal
	before, size := o.w.Counts().Records, o.w.Size()
	var err error
	d.c.Store.ChangedSlots(state.ForDisk, func(slot uint16) {
		if err != nil {
			return
		}
		d.c.Store.Changed(state.ForDisk, slot, now, func(lossAt int64, records []state.Record) {
			err = errors.Join(err, o.slot(d, slot, lossAt, records, now))
		})
	})
	if err == nil && o.w.Size() > size {
		err = o.sync(d, d.c.Sync != SyncOff)
	}
	d.count.journalRecords.Add(o.w.Counts().Records - before)
	d.count.journalBytes.Add(o.w.Size() - size)
	d.journalBytes += o.w.Size() - size
	return err
}
