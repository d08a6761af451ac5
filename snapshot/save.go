package snapshot

// BeginSave begins a whole snapshot, if none is on its way, also where writing
// has stopped: it tries again. Ticks go on with it, and others are served in
// between; Stats tells of its end by Saves or by Failures. An error stops
// writing, as one of Tick does.
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
	if err := d.goOnFolding(now); err != nil {
		d.stop(err, now)
		return err
	}
	return nil
}

// Save is BeginSave with all that is to be done until its end.
func (d *Disk) Save(now int64) error {
	if err := d.BeginSave(now); err != nil {
		return err
	}
	for d.fold != nil {
		if err := d.goOnFolding(now); err != nil {
			d.stop(err, now)
			return err
		}
	}
	return nil
}
