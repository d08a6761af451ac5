package snapshot

import (
	"errors"
	"slices"
	"strings"

	"github.com/rlserver/rlserver/state"
)

// fold is a snapshot on its way. The journal of the same number was begun
// before it, so that what changes while it is written is in there.
type fold struct {
	out    *output
	number uint64
	next   int // slot
}

func (d *Disk) newFold(now int64) (*fold, error) {
	out, err := d.create(nameOf(d.number, snapshotSuffix)+unfinished, d.number, now)
	if err != nil {
		return nil, err
	}
	return &fold{out: out, number: d.number}, nil
}

// goOnFolding does the next piece of a new snapshot: so many slots.
func (d *Disk) goOnFolding(now int64, slots int) error {
	if d.fold == nil {
		if err := d.begin(now); err != nil {
			return err
		}
		f, err := d.newFold(now)
		if err != nil {
			return err
		}
		d.fold, d.foldSoon = f, false
	}
	f := d.fold
	if err := f.add(d, slots, now); err != nil || f.next < state.Slots {
		return err
	}
	// What changed in slots that were written first is then in the journal:
	// all that was known when the snapshot gets its name is durable.
	if err := d.writeChanges(now); err != nil {
		return err
	}
	d.fold = nil
	if err := f.finish(d); err != nil {
		f.drop(d)
		return err
	}
	return nil
}

// add writes the next slots. It syncs now and then, so that no sync takes long.
func (f *fold) add(d *Disk, slots int, now int64) (err error) {
	synced := f.next / foldSlots
	for ; slots > 0 && f.next < state.Slots && err == nil; slots-- {
		slot, empty := uint16(f.next), true
		d.c.Store.Records(slot, now, func(lossAt int64, records []state.Record) {
			err = errors.Join(err, f.out.slot(d, slot, lossAt, records, now))
			empty = false
		})
		if empty && d.meta(slot) != (SlotState{}) {
			err = errors.Join(err, f.out.slot(d, slot, 0, nil, now))
		}
		f.next++
	}
	return errors.Join(err, f.out.sync(d, f.next/foldSlots > synced))
}

// finish gives the snapshot its name, and then removes what it replaces.
func (f *fold) finish(d *Disk) error {
	w, name := f.out.w, nameOf(f.number, snapshotSuffix)
	err := w.End()
	if err == nil {
		err = f.out.sync(d, true)
	}
	if err = errors.Join(err, f.out.file.Close()); err != nil {
		return err
	}
	if err := errors.Join(d.c.FS.Rename(f.out.name, name), d.c.FS.Sync()); err != nil {
		return err
	}
	d.snapshotBytes, d.journalBytes = w.Size(), 0
	if d.journal != nil {
		d.journalBytes = d.journal.w.Size()
	}
	d.count.saves.Add(1)
	if d.c.Events.Saved != nil {
		d.c.Events.Saved(name, w.Size(), w.Counts().Records)
	}
	d.removeBefore(f.number)
	return nil
}

// drop gives up a snapshot that is not finished.
func (f *fold) drop(d *Disk) {
	_ = f.out.file.Close()        // its bytes are not wanted
	_ = d.c.FS.Remove(f.out.name) // the next Open does it otherwise
}

func (d *Disk) dropFold() {
	if d.fold != nil {
		d.fold.drop(d)
		d.fold, d.foldSoon = nil, true
	}
}

// removeBefore removes files that a snapshot replaces, and puts damaged ones
// aside. What fails is done after the next snapshot.
func (d *Disk) removeBefore(number uint64) {
	names, err := d.c.FS.List()
	if err != nil {
		return
	}
	for _, name := range names {
		if n, ok := anyNumber(name); !ok || n >= number {
			continue
		}
		if !d.damaged[name] {
			_ = d.c.FS.Remove(name)
			continue
		}
		if d.c.FS.Rename(name, name+asideSuffix) == nil {
			delete(d.damaged, name)
			if d.c.Events.Aside != nil {
				d.c.Events.Aside(name, name+asideSuffix)
			}
		}
	}
	d.thinAside()
}

// anyNumber is the number of a snapshot or journal.
func anyNumber(name string) (uint64, bool) {
	if n, ok := numberOf(name, snapshotSuffix); ok {
		return n, true
	}
	return numberOf(name, journalSuffix)
}

// thinAside removes all but the newest damaged files.
func (d *Disk) thinAside() {
	names, err := d.c.FS.List()
	if err != nil {
		return
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return !strings.HasPrefix(name, namePrefix) || !strings.HasSuffix(name, asideSuffix)
	})
	slices.Sort(names)
	for _, name := range names[:max(len(names)-maxAside, 0)] {
		_ = d.c.FS.Remove(name)
	}
}
