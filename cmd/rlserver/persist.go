package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlserver/rlserver/admin"
	"github.com/rlserver/rlserver/commands"
	"github.com/rlserver/rlserver/snapshot"
	"github.com/rlserver/rlserver/state"
)

// keeper keeps the buckets on the disk. One goroutine does: it loads them,
// writes what changes, and saves all at the end.
type keeper struct {
	dir   string
	slots *slotStates
	cfg   snapshot.Config
	now   func() int64
	log   *slog.Logger
	loads atomic.Pointer[error] // why they are not loaded yet; nil: they are
	disk  atomic.Pointer[snapshot.Disk]

	loaded chan error // gets why they cannot be loaded, or is closed
	saves  chan func(error)
	syncs  chan chan struct{}
	stop   chan struct{}
	done   chan struct{}

	mu           sync.Mutex
	stopped      error // why nothing is written
	lastSave     int64
	lastSaveFail bool
	atLastSave   int64 // records written
}

var _ commands.Persistence = (*keeper)(nil)

// tickEvery is how often the disk is looked after.
const tickEvery = 50 * time.Millisecond

var errLoads = errors.New("it loads the buckets from the disk")

// newKeeper begins to load.
func newKeeper(cfg *config, slots *slotStates, now func() int64, log *slog.Logger) *keeper {
	k := &keeper{
		dir: filepath.Join(cfg.cluster.dir, "buckets"), slots: slots, now: now, log: log,
		loaded: make(chan error, 1), saves: make(chan func(error)), syncs: make(chan chan struct{}),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	k.cfg = snapshot.Config{
		FS:    snapshot.Dir(k.dir),
		Store: slots.store, Meta: slots.meta, Node: cfg.nodeName, Sync: cfg.sync, Events: k.events(),
		Reserve: max(int64(cfg.diskReserve), 1), // there, 0 is the default
	}
	k.loads.Store(&errLoads)
	go k.run()
	return k
}

func (k *keeper) run() {
	defer close(k.done)
	disk, err := k.load()
	if err != nil {
		k.slots.load(nil)
		k.loaded <- err
		return
	}
	k.disk.Store(disk)
	k.loads.Store(nil)
	close(k.loaded)
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	var s saving
	for {
		select {
		case <-tick.C:
			disk.Tick(k.now())
		case <-s.next():
			disk.GoOn(k.now())
		case done := <-k.saves:
			s.begin(disk, k.now(), func(err error) {
				if err != nil {
					k.noteSave(err)
				}
				done(err)
			})
		case first := <-k.syncs:
			k.sync(disk, first)
		case <-k.stop:
			err := disk.Close(k.now())
			if err != nil {
				k.log.Error("the buckets were not saved; what was written until now is loaded at the next start", "err", err)
			}
			s.end(err)
			return
		}
		s.look(disk, k.whyStopped)
	}
}

// whyStopped is why nothing is written; nil: it is.
func (k *keeper) whyStopped() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.stopped
}

// sync writes once for all who wait.
func (k *keeper) sync(disk *snapshot.Disk, first chan struct{}) {
	waiting := []chan struct{}{first}
	for more := true; more; {
		select {
		case next := <-k.syncs:
			waiting = append(waiting, next)
		default:
			more = false
		}
	}
	disk.Write(k.now())
	for _, w := range waiting {
		close(w)
	}
}

// load reads what is there. After anything but a clean stop counts may be
// missing, which strict buckets must know.
func (k *keeper) load() (*snapshot.Disk, error) {
	begun := k.now()
	if err := os.MkdirAll(k.dir, 0o750); err != nil {
		return nil, fmt.Errorf("the directory of the buckets cannot be made: %w", err)
	}
	disk, loaded, err := snapshot.Open(k.cfg, begun)
	if err != nil {
		return nil, fmt.Errorf("the buckets in %s cannot be loaded: %w", k.dir, err)
	}
	lost := loaded.Found && (!loaded.Clean || loaded.Corrupt > 0 || loaded.NoRoom > 0)
	if lost {
		for slot := range uint16(state.Slots) {
			k.cfg.Store.Lose(slot, k.now())
		}
	}
	if loaded.Found {
		k.log.Info("buckets loaded", "records", loaded.Records, "took", time.Duration(k.now()-begun).String(),
			"clean", !lost, "no-room", loaded.NoRoom, "damaged", loaded.Corrupt, "torn", loaded.Torn)
	}
	k.slots.load(loaded.Slots)
	return disk, nil
}

func (k *keeper) events() snapshot.Events {
	return snapshot.Events{
		Torn: func(file string, at int64) {
			k.log.Warn("the end of a file was not written completely, and was cut off", "file", file, "at", at)
		},
		Corrupt: func(file string, err error) {
			k.log.Error("a part of a file cannot be read; the rest is used", "file", file, "err", err)
		},
		Aside: func(file, as string) { k.log.Warn("a damaged file is kept", "file", file, "as", as) },
		Stopped: func(err error) {
			k.noteStopped(err)
			k.log.Error("changes are not written to the disk; decisions go on, it is tried again", "err", err)
		},
		Resumed: func() {
			k.noteStopped(nil)
			k.log.Info("changes are written to the disk again")
		},
		Saved: func(file string, bytes, records int64) {
			k.noteSave(nil)
			k.log.Debug("saved", "file", file, "bytes", bytes, "records", records)
		},
	}
}

func (k *keeper) noteStopped(why error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped = why
}

func (k *keeper) noteSave(err error) {
	written := int64(0)
	if d := k.disk.Load(); d != nil {
		written = d.Stats().JournalRecords
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lastSaveFail = err != nil
	if err == nil {
		k.lastSave, k.atLastSave = k.now(), written
	}
}

// loading says why the buckets are not there yet; nil: they are.
func (k *keeper) loading() error {
	if err := k.loads.Load(); err != nil {
		return *err
	}
	return nil
}

// close saves everything. Nobody may decide any more.
func (k *keeper) close() {
	close(k.stop)
	<-k.done
}

// Save implements commands.Persistence.
func (k *keeper) Save(done func(error)) {
	go func() {
		select {
		case k.saves <- done:
		case <-k.done:
			done(errors.New("the server stops, which saves everything"))
		}
	}()
}

// Durable implements commands.Persistence.
func (k *keeper) Durable() {
	if k.cfg.Sync != snapshot.SyncAlways {
		return
	}
	synced := make(chan struct{})
	select {
	case k.syncs <- synced:
		<-synced
	case <-k.done:
	}
}

// Saved implements commands.Persistence.
func (k *keeper) Saved() commands.SaveInfo {
	info := commands.SaveInfo{Sync: k.cfg.Sync.String()}
	if d := k.disk.Load(); d != nil {
		s := d.Stats()
		info.Records, info.Bytes, info.Saves, info.Failures, info.Damaged = s.JournalRecords, s.JournalBytes, s.Saves, s.Failures, s.Corrupt
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	info.LastSave, info.LastSaveFail, info.SinceLast = k.lastSave, k.lastSaveFail, info.Records-k.atLastSave
	if k.stopped != nil {
		info.Stopped = k.stopped.Error()
	}
	return info
}

// metrics shows the disk to the side door in its words.
func (k *keeper) metrics() admin.Disk {
	d := k.disk.Load()
	if d == nil {
		return admin.Disk{Loading: true}
	}
	s := d.Stats()
	return admin.Disk{
		Stopped:        s.Stopped,
		WrittenBuckets: uint64(s.JournalRecords), WrittenBytes: uint64(s.JournalBytes),
		Syncs: uint64(s.Syncs), Saves: uint64(s.Saves), Failures: uint64(s.Failures), Damaged: uint64(s.Corrupt),
	}
}
