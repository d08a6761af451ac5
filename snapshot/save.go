package snapshot

// saveSlots are few, as others wait for what is between.
const saveSlots = 64

// BeginSave begins a whole snapshot, if none is on its way, also where writing
// has stopped: it tries again. GoOn and Tick go on with it; Stats tells of its
// end by Saves or by Failures. An error stops writing, as one of Tick does.
func (d *Disk) BeginSave(now int64) error {
	if d.journal == nil {
		if err := d.room(d.snapshotBytes); err != nil {
			return err
		}
		d.retryAt = now
		if !d.resume(now) {
			return errNoJournal
		}
	}
	return d.goOnSaving(now)
}

// GoOn does a small piece of the snapshot that is on its way, if one is: a
// millisecond's, with a million keys.
func (d *Disk) GoOn(now int64) {
	if d.fold != nil {
		_ = d.goOnSaving(now) // Events and Stats tell of it
	}
}

func (d *Disk) goOnSaving(now int64) error {
	err := d.goOnFolding(now, saveSlots)
	if err != nil {
		d.stop(err, now)
	}
	return err
}

// Save is BeginSave with all that is to be done until its end.
func (d *Disk) Save(now int64) error {
	err := d.BeginSave(now)
	for err == nil && d.fold != nil {
		err = d.goOnSaving(now)
	}
	return err
}
