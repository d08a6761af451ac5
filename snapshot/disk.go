package snapshot

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rlserver/rlserver/state"
)

// SyncPolicy says when changes reach the disk.
type SyncPolicy uint8

// The policies.
const (
	SyncSecond SyncPolicy = iota // written and synced once a second
	SyncAlways                   // written and synced with every Tick
	SyncOff                      // written once a second; when they are durable is the system's matter
)

// ParseSync reads a policy as operators write it: 1s, always or off.
func ParseSync(text string) (SyncPolicy, error) {
	for _, p := range []SyncPolicy{SyncSecond, SyncAlways, SyncOff} {
		if strings.EqualFold(text, p.String()) {
			return p, nil
		}
	}
	return 0, fmt.Errorf("must be 1s, always or off, got %q", text)
}

// String is what ParseSync reads.
func (p SyncPolicy) String() string {
	switch p {
	case SyncAlways:
		return "always"
	case SyncOff:
		return "off"
	default:
		return "1s"
	}
}

// DefaultReserve is how many bytes stay free for others when the disk fills.
const DefaultReserve = 64 << 20

const (
	syncEvery  = int64(time.Second)      // how often changes are written, but for SyncAlways
	retryAfter = int64(10 * time.Second) // after a failure of the disk
	foldSlots  = 512                     // slots that one Tick adds to a new snapshot
	minFold    = 4 << 20                 // a journal of fewer bytes is not worth folding
	maxAside   = 3                       // damaged files that are kept
)

// ErrReserve is within what Events.Stopped tells when no more may be written.
var ErrReserve = errors.New("the disk is full but for the reserve")

var errNoJournal = errors.New("no journal can be begun")

// Config is what a Disk needs.
type Config struct {
	FS    FS
	Store *state.Store // it collects for state.ForDisk
	Node  string       // who writes; at most 256 bytes
	Sync  SyncPolicy
	// Reserve is how many bytes stay free on the disk; 0: DefaultReserve.
	Reserve int64
	// Meta is a slot's version and the sequence in its stream, to be written
	// with what changed; nil: none.
	Meta   func(slot uint16) (version, sequence uint64)
	Events Events
}

// Events are told what operators want to know, by Open, Tick and Close. Each
// may be nil.
type Events struct {
	// Torn: a journal's end was not completely written. It was cut off there.
	Torn func(file string, at int64)
	// Corrupt: something in a file cannot be read. The rest was, if possible.
	Corrupt func(file string, err error)
	// Aside: a damaged file was renamed and is kept.
	Aside func(file, as string)
	// Stopped: changes are no longer written. Decisions go on; it is tried
	// again every ten seconds.
	Stopped func(err error)
	// Resumed: changes are written again.
	Resumed func()
	// Saved: a whole snapshot was written.
	Saved func(file string, bytes, records int64)
}

// Stats is what a Disk has done since Open.
type Stats struct {
	JournalRecords int64 // records written to journals
	JournalBytes   int64 // bytes of them
	Syncs          int64
	Saves          int64 // whole snapshots
	Failures       int64 // times that writing stopped
	Torn           int64 // files whose end was cut off
	Corrupt        int64 // damaged sections and files
	TooLong        int64 // records with keys above 768 KiB, which are not written
	Stopped        bool  // nothing is written at present
}

type diskCounters struct {
	journalRecords, journalBytes, syncs, saves, failures, torn, corrupt, tooLong atomic.Int64
	stopped                                                                      atomic.Bool
}

// Disk keeps a store's buckets in files: a snapshot, and journals of what
// changed since. It has neither a goroutine nor a clock: Open, Tick and Close
// are called by one goroutine at a time, Stats by any. Times are Unix
// nanoseconds.
type Disk struct {
	c     Config
	count diskCounters

	journal  *output // nil: stopped
	fold     *fold   // nil: none is under way
	foldSoon bool    // whatever the sizes are
	number   uint64  // of the newest file
	damaged  map[string]bool

	snapshotBytes int64
	journalBytes  int64 // of all journals since the snapshot
	written       int64 // when changes were last written
	looked        int64 // when it was last looked how full the disk is
	retryAt       int64 // when stopped: to write again; else to begin a fold
}

// SlotState is what the files say of one slot.
type SlotState struct {
	Version, Sequence uint64
}

// Loaded is what Open found.
type Loaded struct {
	// Found: there was something. Without it the others say nothing.
	Found bool
	// Clean: the server was stopped in order, and all it knew is here. Without
	// it counts were lost: the caller says so to the store, with Lose, for each
	// slot that goes on with this state.
	Clean   bool
	Slots   []SlotState // by slot
	Records int64       // installed
	NoRoom  int64       // records for which the store had no room
	Torn    int64       // files whose end was cut off
	Corrupt int64       // damaged sections and files
}

// Stats returns the current numbers.
func (d *Disk) Stats() Stats {
	c := &d.count
	return Stats{
		JournalRecords: c.journalRecords.Load(),
		JournalBytes:   c.journalBytes.Load(),
		Syncs:          c.syncs.Load(),
		Saves:          c.saves.Load(),
		Failures:       c.failures.Load(),
		Torn:           c.torn.Load(),
		Corrupt:        c.corrupt.Load(),
		TooLong:        c.tooLong.Load(),
		Stopped:        c.stopped.Load(),
	}
}

// Open loads what is in the files into the store and begins a new journal.
// Damage is told and is no error; an error is what the directory refuses.
func Open(c Config, now int64) (*Disk, Loaded, error) {
	if c.Reserve == 0 {
		c.Reserve = DefaultReserve
	}
	if !c.Store.Collects(state.ForDisk) {
		return nil, Loaded{}, errors.New("snapshot: the store does not collect changes for a disk")
	}
	d := &Disk{c: c, damaged: map[string]bool{}, written: now}
	loaded, err := d.load(now)
	if err != nil {
		return nil, loaded, fmt.Errorf("snapshot: %w", err)
	}
	// From here on a crash is one: a journal behind the snapshot says so.
	if err := d.begin(now); err != nil {
		return nil, loaded, fmt.Errorf("snapshot: %w", err)
	}
	return d, loaded, nil
}

// Tick writes what changed, when its time has come, and goes on with a new
// snapshot where the journal has outgrown the last one. It is to be called
// several times a second. Some 512 slots go into a new snapshot with each call.
func (d *Disk) Tick(now int64) {
	if d.journal == nil && !d.resume(now) {
		return
	}
	passed := now - d.written
	if d.c.Sync == SyncAlways || passed >= syncEvery || passed < 0 {
		if err := d.writeChanges(now); err != nil {
			d.stop(err, now)
			return
		}
	}
	if d.fold == nil && !d.foldDue(now) {
		return
	}
	if err := d.goOnFolding(now, foldSlots); err != nil {
		d.stop(err, now)
	}
}

// Write writes what changed now, and does nothing else: with SyncAlways it is
// for replies that wait. Where writing has stopped it leaves that to Tick.
func (d *Disk) Write(now int64) {
	if d.journal == nil {
		return
	}
	if err := d.writeChanges(now); err != nil {
		d.stop(err, now)
	}
}

// foldDue says whether a new snapshot is wanted and has room.
func (d *Disk) foldDue(now int64) bool {
	wanted := d.foldSoon || d.journalBytes > max(d.snapshotBytes, minFold)
	if !wanted || d.waits(now) {
		return false
	}
	if d.room(d.snapshotBytes) != nil {
		d.retryAt = now + retryAfter // the journal goes on
		return false
	}
	return true
}

// waits says whether it is too early to try again. A clock that was set back
// does not make it later.
func (d *Disk) waits(now int64) bool { return now < d.retryAt && d.retryAt-now <= retryAfter }

// Close writes a whole snapshot with the mark of a clean stop. Nobody may
// decide any more, and the Disk is of no use afterwards. It may use up the
// reserve: what the snapshot replaces is removed at once. After an error the
// next Open finds what was written before, and no mark.
func (d *Disk) Close(now int64) error {
	d.dropFold()
	if d.journal != nil {
		// If the snapshot fails, the journal has it all the same.
		_ = d.writeChanges(now)
		_ = d.journal.file.Close()
		d.journal = nil
	}
	d.number++ // no journal has this number: that is the other half of the mark
	f, err := d.newFold(now)
	if err == nil {
		err = f.add(d, state.Slots, now)
	}
	if err == nil {
		err = f.out.w.Clean()
	}
	if err == nil {
		err = f.finish(d)
	}
	if err != nil {
		if f != nil {
			f.drop(d)
		}
		return fmt.Errorf("snapshot: save: %w", err)
	}
	return nil
}

// stop gives up writing for a while. What is on the disk stays good; what
// changes meanwhile comes with the snapshot that resume begins.
func (d *Disk) stop(err error, now int64) {
	d.dropFold()
	if d.journal != nil {
		_ = d.journal.file.Close() // it has failed already
		d.journal = nil
	}
	d.retryAt = now + retryAfter
	d.count.failures.Add(1)
	d.count.stopped.Store(true)
	if d.c.Events.Stopped != nil {
		d.c.Events.Stopped(err)
	}
}

// resume tries to write again, if it is time, and reports whether it does.
func (d *Disk) resume(now int64) bool {
	if d.waits(now) {
		return false
	}
	d.retryAt = now + retryAfter
	if d.room(d.snapshotBytes) != nil || d.begin(now) != nil {
		return false
	}
	// Records may have been lost on their way when writing failed.
	d.foldSoon, d.retryAt = true, now
	d.count.stopped.Store(false)
	if d.c.Events.Resumed != nil {
		d.c.Events.Resumed()
	}
	return true
}

// room is ErrReserve if n bytes more would leave less than the reserve.
func (d *Disk) room(n int64) error {
	free, err := d.c.FS.Free()
	if err == nil && free-n < d.c.Reserve {
		err = fmt.Errorf("%w: %d bytes are free", ErrReserve, free)
	}
	return err
}
