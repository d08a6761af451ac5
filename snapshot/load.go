package snapshot

import (
	"errors"
	"io"
	"slices"

	"github.com/rlserver/rlserver/state"
)

// load reads the newest snapshot and all journals since into the store.
func (d *Disk) load(now int64) (loaded Loaded, err error) {
	loaded.Slots = make([]SlotState, state.Slots)
	snapshots, journals, err := d.files()
	if err != nil {
		return loaded, err
	}
	loaded.Found = len(snapshots)+len(journals) > 0
	base := uint64(0)
	for i, n := range slices.Backward(snapshots) {
		r, err := d.read(nameOf(n, snapshotSuffix), &loaded, now)
		if err != nil {
			return loaded, err
		}
		if r == nil && i > 0 {
			continue // nothing can be made of it: perhaps the one before is still there
		}
		base = n
		if r != nil {
			d.snapshotBytes = r.Offset()
			loaded.Clean = r.Clean()
			if !r.Ended() {
				d.damage(nameOf(n, snapshotSuffix), errors.New("it has no end"), &loaded)
			}
		}
		break
	}
	for _, n := range journals {
		if n < base {
			continue
		}
		loaded.Clean = false
		r, err := d.read(nameOf(n, journalSuffix), &loaded, now)
		if err != nil {
			return loaded, err
		}
		if r != nil {
			d.journalBytes += r.Offset()
		}
	}
	loaded.Clean = loaded.Clean && loaded.Corrupt == 0
	d.foldSoon = loaded.Corrupt > 0 || len(journals) > 0
	return loaded, nil
}

// files lists the numbers of snapshots and journals, ascending, and removes
// snapshots that were never finished.
func (d *Disk) files() (snapshots, journals []uint64, err error) {
	names, err := d.c.FS.List()
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		if n, ok := numberOf(name, snapshotSuffix); ok {
			snapshots = append(snapshots, n)
			d.number = max(d.number, n)
		}
		if n, ok := numberOf(name, journalSuffix); ok {
			journals = append(journals, n)
			d.number = max(d.number, n)
		}
		if _, ok := numberOf(name, snapshotSuffix+unfinished); ok {
			if err := d.c.FS.Remove(name); err != nil {
				return nil, nil, err
			}
		}
	}
	slices.Sort(snapshots)
	slices.Sort(journals)
	return snapshots, journals, nil
}

// read installs what a file holds. It returns no Reader if not even its
// beginning could be read. An error is the directory's.
func (d *Disk) read(name string, loaded *Loaded, now int64) (*Reader, error) {
	file, err := d.c.FS.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	r, err := NewReader(file, Since(now))
	if err != nil {
		d.illegible(name, err, loaded)
		return nil, nil
	}
	// A crash may leave the end of a journal half written, with anything in
	// the other half. What is damaged with nothing sound behind it is that.
	_, isJournal := numberOf(name, journalSuffix)
	var unsound []*SectionError
	for {
		s, err := r.Next()
		var wrong *SectionError
		switch {
		case err == nil:
			d.damageAll(name, unsound, loaded)
			unsound = nil
			d.install(s, loaded, now)
		case errors.Is(err, ErrCorrupt) && errors.As(err, &wrong) && isJournal:
			unsound = append(unsound, wrong)
		case errors.Is(err, ErrCorrupt):
			d.damage(name, err, loaded)
		case errors.Is(err, io.EOF) && len(unsound) == 0:
			if r.Counts().Lost > 0 {
				d.damage(name, errors.New("parts of logs are missing"), loaded)
			}
			return r, nil
		case len(unsound) > 0 && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
			return r, d.torn(name, unsound[0].Offset, loaded)
		default:
			d.damageAll(name, unsound, loaded)
			return r, d.broken(name, err, r.Offset(), loaded)
		}
	}
}

func (d *Disk) damageAll(name string, unsound []*SectionError, loaded *Loaded) {
	for _, err := range unsound {
		d.damage(name, err, loaded)
	}
}

func (d *Disk) install(s *Slot, loaded *Loaded, now int64) {
	if s.LossAt != 0 {
		d.c.Store.Lose(s.Slot, s.LossAt)
	}
	left := d.c.Store.Install(s.Slot, s.Records, now, state.ForDisk)
	loaded.NoRoom += int64(left)
	loaded.Records += int64(len(s.Records) - left)
	loaded.Slots[s.Slot] = SlotState{s.Version, s.Sequence}
}

// illegible is about a file of which not even the beginning can be read. A
// journal is only used when its beginning is durable, so a short one of these
// was never used.
func (d *Disk) illegible(name string, err error, loaded *Loaded) {
	_, isJournal := numberOf(name, journalSuffix)
	size, sizeErr := d.c.FS.Size(name)
	if isJournal && sizeErr == nil && size <= maxBeginning && !errors.Is(err, ErrVersion) {
		return
	}
	d.damage(name, err, loaded)
}

// broken is about a file of which no more can be read. A journal's torn end is
// what a crash leaves; anything else is damage.
func (d *Disk) broken(name string, err error, at int64, loaded *Loaded) error {
	if _, isJournal := numberOf(name, journalSuffix); isJournal && errors.Is(err, io.ErrUnexpectedEOF) {
		return d.torn(name, at, loaded)
	}
	d.damage(name, err, loaded)
	return nil
}

// torn cuts off a journal's torn end.
func (d *Disk) torn(name string, at int64, loaded *Loaded) error {
	loaded.Torn++
	d.count.torn.Add(1)
	if d.c.Events.Torn != nil {
		d.c.Events.Torn(name, at)
	}
	return d.c.FS.Truncate(name, at)
}

// damage counts what cannot be read, and has the file put aside as soon as
// there is a snapshot without it.
func (d *Disk) damage(name string, err error, loaded *Loaded) {
	d.damaged[name] = true
	loaded.Corrupt++
	d.count.corrupt.Add(1)
	if d.c.Events.Corrupt != nil {
		d.c.Events.Corrupt(name, err)
	}
}
