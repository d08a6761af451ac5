package snapshot

// Save writes a whole snapshot now, also where writing has stopped: it tries
// again. An error stops writing, as one of Tick does.
func (d *Disk) Save(now int64) error {
	if d.journal == nil {
		if err := d.room(d.snapshotBytes); err != nil {
			return err
		}
		d.retryAt = now
		if !d.resume(now) {
			return errNoJournal
		}
	}
	for begun := false; !begun || d.fold != nil; begun = true {
		if err := d.goOnFolding(now); err != nil {
			d.stop(err, now)
			return err
		}
	}
	return nil
}
