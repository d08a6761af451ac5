package commands

import (
	"fmt"
	"strings"
)

// Persistence is what keeps the counts over a restart. Every method may be
// called from any goroutine.
type Persistence interface {
	// Save writes everything now. It does not wait: done is called once, from
	// any goroutine or from within.
	Save(done func(error))
	// Durable returns once all that was decided before is on the disk, if the
	// operator wants replies to wait for that; else at once.
	Durable()
	// Saved tells how it fares.
	Saved() SaveInfo
}

// SaveInfo is what INFO tells of the disk.
type SaveInfo struct {
	Sync         string // when changes reach the disk: 1s, always or off
	LastSave     int64  // of everything, Unix nanoseconds; 0: not since the start
	Records      int64  // changed buckets that were written
	Bytes        int64  // of them
	Saves        int64  // of everything
	Failures     int64  // times that writing stopped
	Damaged      int64  // parts of files that could not be read
	Stopped      string // why nothing is written at present; empty: it is
	SinceLast    int64  // changed buckets that were written since the last save of everything
	LastSaveFail bool
}

// RL.SAVE
func saveCommand() Command {
	return Command{
		Name: "rl.save", Group: GroupServer, Since: "0.2.0",
		Summary:    "Writes all buckets to the disk, as a whole.",
		Complexity: "O(n) in the keys; others are served meanwhile",
		Flags:      FlagAdmin, Keys: noKeys(), Category: CategoryAdmin,
		Reply: "OK, when it is on the disk",
		Help: []string{
			"What changes is written all the time (--sync): this is for before a copy of the directory is made.",
		},
		Run: func(c *Call) error {
			if c.d.cfg.Persistence == nil {
				return errorf("this server keeps nothing on a disk")
			}
			await(c, "INFO persistence", func(done func(struct{}, error)) {
				c.d.cfg.Persistence.Save(func(err error) { done(struct{}{}, err) })
			}, c.ok)
			return nil
		},
	}
}

func (c *Call) infoPersistence(_ *ServerInfo, b *strings.Builder) {
	flag := func(is bool) int {
		if is {
			return 1
		}
		return 0
	}
	fmt.Fprintf(b, "loading:%d\r\nrdb_bgsave_in_progress:0\r\naof_rewrite_in_progress:0\r\n", flag(c.d.loading.wait() != nil))
	if c.d.cfg.Persistence == nil {
		b.WriteString("rdb_changes_since_last_save:0\r\naof_enabled:0\r\n")
		return
	}
	i := c.d.cfg.Persistence.Saved()
	status := func(bad bool) string {
		if bad {
			return "err"
		}
		return "ok"
	}
	fmt.Fprintf(b, "rdb_changes_since_last_save:%d\r\nrdb_last_save_time:%d\r\nrdb_last_bgsave_status:%s\r\naof_enabled:1\r\naof_last_write_status:%s\r\n"+
		"buckets_sync:%s\r\nbuckets_written:%d\r\nbuckets_written_bytes:%d\r\nbuckets_saves:%d\r\nbuckets_failures:%d\r\nbuckets_damaged:%d\r\n",
		i.SinceLast, i.LastSave/1e9, status(i.LastSaveFail), status(i.Stopped != ""), i.Sync, i.Records, i.Bytes, i.Saves, i.Failures, i.Damaged)
	if i.Stopped != "" {
		fmt.Fprintf(b, "buckets_stopped:%s\r\n", i.Stopped)
	}
}
