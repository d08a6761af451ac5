package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/state"
)

func newStore(tb testing.TB) *state.Store {
	tb.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	s, err := state.New(state.Config{
		Collect: state.ForDisk,
		Rand:    r.Uint64,
		Hash: func(key []byte) uint64 {
			h := fnv.New64a()
			h.Write(key)
			return h.Sum64() * 0x9e3779b97f4a7c15
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// server is a store on a disk, and what it was told.
type server struct {
	*Disk
	store  *state.Store
	fs     *memFS
	loaded Loaded
	told   []string
}

func (s *server) tell(format string, args ...any) {
	s.told = append(s.told, fmt.Sprintf(format, args...))
}

func (s *server) config() Config {
	return Config{FS: s.fs, Store: s.store, Node: "node-1", Events: Events{
		Torn:    func(file string, at int64) { s.tell("torn %s %d", file, at) },
		Corrupt: func(file string, err error) { s.tell("corrupt %s: %v", file, err) },
		Aside:   func(file, as string) { s.tell("aside %s %s", file, as) },
		Stopped: func(err error) { s.tell("stopped: %v", err) },
		Resumed: func() { s.tell("resumed") },
		Saved:   func(file string, _, records int64) { s.tell("saved %s %d", file, records) },
	}}
}

// serve starts a server on what fs holds.
func serve(tb testing.TB, fs *memFS, now int64, change ...func(*Config)) *server {
	tb.Helper()
	s := &server{store: newStore(tb), fs: fs}
	c := s.config()
	for _, f := range change {
		f(&c)
	}
	var err error
	if s.Disk, s.loaded, err = Open(c, now); err != nil {
		tb.Fatal(err)
	}
	return s
}

// slow refills so slowly that a test does not see it.
func slow(a limit.Algorithm) limit.Spec {
	return limit.Spec{Algorithm: a, Limit: 1000, Window: 300 * day, Burst: 1000}
}

func (s *server) take(tb testing.TB, key string, a limit.Algorithm, n, now int64) {
	tb.Helper()
	if _, err := s.store.Decide([]byte(key), slow(a), limit.Request{Cost: n}, now); err != nil {
		tb.Fatal(err)
	}
}

// ticks is many Ticks, 20 ms apart, so that a snapshot that is wanted is made.
func (s *server) ticks(now int64) int64 {
	for range 2 * state.Slots / foldSlots {
		now += 20 * ms
		s.Tick(now)
	}
	return now
}

// content is all buckets of a store, one text each.
func content(s *state.Store, now int64) map[string]string {
	all := map[string]string{}
	for slot := range uint16(state.Slots) {
		s.Records(slot, now, func(lossAt int64, records []state.Record) {
			if lossAt != 0 {
				all[fmt.Sprint(slot)] = fmt.Sprint(lossAt)
			}
			for i := range records {
				r := &records[i]
				all[fmt.Sprintf("%d %q %t", slot, r.Key, r.Policy)] = text(r)
			}
		})
	}
	return all
}

func sameContent(tb testing.TB, got, want map[string]string) {
	tb.Helper()
	for key, text := range want {
		if got[key] != text {
			tb.Errorf("%s is\n%q, want\n%q", key, got[key], text)
		}
	}
	for key := range got {
		if want[key] == "" {
			tb.Errorf("%s should not be there", key)
		}
	}
}

// fill makes buckets of every kind.
func (s *server) fill(tb testing.TB, now int64) {
	tb.Helper()
	for _, a := range limit.Algorithms() {
		for i := range int64(20) {
			s.take(tb, fmt.Sprintf("%s-%d", a, i), a, 1+i, now-day+i)
			s.take(tb, fmt.Sprintf("%s-%d", a, i), a, 1, now)
		}
	}
	asks := []state.Ask{
		{Slot: 7, Key: []byte("strict"), Spec: slow(0), Strict: true},
		{Slot: 8, Key: []byte("policy"), Spec: slow(0)},
	}
	if _, err := s.store.DecideAll(asks, limit.Request{Cost: 3}, now, make([]limit.Decision, 2)); err != nil {
		tb.Fatal(err)
	}
	s.store.Lose(9, now-second)
}

func (s *server) has(tb testing.TB, want ...string) {
	tb.Helper()
	names, err := s.fs.List()
	if err != nil || strings.Join(names, " ") != strings.Join(want, " ") {
		tb.Errorf("files %q, %v, want %q", names, err, want)
	}
}

func (s *server) wasTold(tb testing.TB, want ...string) {
	tb.Helper()
	if got := strings.Join(s.told, "\n"); got != strings.Join(want, "\n") {
		tb.Errorf("told\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	s.told = nil
}

func TestCleanStop(t *testing.T) {
	s := serve(t, newMemFS(), start)
	if s.loaded.Found || s.loaded.Clean {
		t.Errorf("in an empty directory: %+v", s.loaded)
	}
	s.fill(t, start)
	want := content(s.store, start)
	if err := s.Close(start); err != nil {
		t.Fatal(err)
	}
	s.has(t, "buckets-000002.snapshot")
	s.wasTold(t, "saved buckets-000002.snapshot 102")

	again := serve(t, s.fs, start)
	if l := again.loaded; !l.Found || !l.Clean || l.Records != 102 || l.NoRoom+l.Torn+l.Corrupt != 0 {
		t.Errorf("%t %t %d records", l.Found, l.Clean, l.Records)
	}
	sameContent(t, content(again.store, start), want)
	again.has(t, "buckets-000002.snapshot", "buckets-000003.journal")

	// The mark is good for one start.
	if serve(t, again.fs.crash(rand.New(rand.NewPCG(1, 1))), start).loaded.Clean {
		t.Error("clean after a crash")
	}
}

func TestKill(t *testing.T) {
	for _, policy := range []SyncPolicy{SyncSecond, SyncAlways} {
		s := serve(t, newMemFS(), start, func(c *Config) { c.Sync = policy })
		s.fill(t, start)
		now := start + second
		s.Tick(now)
		s.take(t, "more", limit.TokenBucket, 5, now)
		s.store.Reset([]byte("token-bucket-3"), now)
		want := content(s.store, now)
		s.Tick(now + 10*ms)
		if policy == SyncSecond {
			if n := s.Stats().JournalRecords; n != 102 {
				t.Errorf("%d records after a second, want 102", n)
			}
			s.Tick(now + second)
		}
		s.take(t, "lost", limit.TokenBucket, 5, now)
		if got := s.Stats(); got.JournalRecords != 104 || got.Syncs < 3 || got.JournalBytes < 2000 {
			t.Errorf("%s: %+v", policy, got)
		}
		again := serve(t, s.fs.crash(rand.New(rand.NewPCG(1, 1))), now+second)
		if l := again.loaded; !l.Found || l.Clean || l.Corrupt+l.NoRoom != 0 {
			t.Errorf("%s: found %t, clean %t, %d corrupt", policy, l.Found, l.Clean, l.Corrupt)
		}
		sameContent(t, content(again.store, now), want)
	}
}

func TestWithoutSync(t *testing.T) {
	s := serve(t, newMemFS(), start, func(c *Config) { c.Sync = SyncOff })
	before := s.Stats().Syncs
	s.fill(t, start)
	s.Tick(start + second)
	if got := s.Stats(); got.Syncs != before || got.JournalRecords != 102 {
		t.Errorf("%+v", got)
	}
}

func TestNothingChangedNothingWritten(t *testing.T) {
	s := serve(t, newMemFS(), start)
	s.fill(t, start)
	s.Tick(start + second)
	s.ops()
	for i := range int64(100) {
		s.take(t, "token-bucket-1", limit.TokenBucket, 1000, start)
		s.Tick(start + second + i*second)
	}
	if n := s.ops(); n > 0 {
		t.Errorf("%d calls for denials", n)
	}
}

// ops is how often the disk was touched since it was last asked.
func (s *server) ops() int {
	n := s.fs.ops
	s.fs.ops = 0
	return n
}

// TestFold: when the journal has outgrown the snapshot a new one replaces both,
// while it is decided; nothing is missing at any time.
func TestFold(t *testing.T) {
	s := serve(t, newMemFS(), start)
	now := start
	long := strings.Repeat("k", 2000)
	for i := 0; s.Stats().JournalBytes <= minFold; i++ {
		for n := range 400 {
			s.take(t, fmt.Sprintf("key-%d-%d%s", i, n, long), limit.TokenBucket, 1, now)
		}
		now += second
		s.Tick(now)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 3 * state.Slots / foldSlots {
		s.take(t, fmt.Sprintf("key-0-%d%s", i, long), limit.TokenBucket, 1, now)
		s.store.Reset(fmt.Appendf(nil, "key-1-%d%s", i, long), now)
		s.take(t, fmt.Sprintf("key-new-%d", i), limit.SlidingLog, 1, now)
		now += second
		s.Tick(now)
		if i == 20 { // in the midst
			sameContent(t, content(serve(t, s.fs.crash(r), now).store, now), content(s.store, now))
		}
	}
	s.has(t, "buckets-000002.journal", "buckets-000002.snapshot")
	if got := s.Stats(); got.Saves != 1 {
		t.Errorf("%+v", got)
	}
	sameContent(t, content(serve(t, s.fs, now).store, now), content(s.store, now))
}

// TestSaveIsWhole: all that was known is durable when Save returns, also where a
// snapshot was under way.
func TestSaveIsWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for before := range 3 {
		s := serve(t, newMemFS(), start)
		now := start + second
		s.Tick(now)
		s.foldSoon = true
		for range before * 10 {
			now += ms
			s.Tick(now)
		}
		s.fill(t, now)
		if err := s.Save(now); err != nil {
			t.Fatal(err)
		}
		sameContent(t, content(serve(t, s.fs.crash(r), now).store, now), content(s.store, now))
	}
	s := serve(t, newMemFS(), start)
	s.take(t, "k", limit.TokenBucket, 1, start)
	if err := s.BeginSave(start); err != nil || s.Stats().Saves != 0 {
		t.Errorf("%v, %+v", err, s.Stats())
	}
	if s.ticks(start); s.Stats().Saves != 1 {
		t.Errorf("ticks do not go on with it: %+v", s.Stats())
	}
	s.fs.fail = errDisk
	if err := s.Save(start); !errors.Is(err, errDisk) {
		t.Error(err)
	}
	s.fs.fail = nil
	if err := s.Save(start); err != nil || s.Stats().Stopped {
		t.Errorf("%v, %+v", err, s.Stats())
	}
}

// TestStartsFold: starts leave no heap of journals behind.
func TestStartsFold(t *testing.T) {
	fs, now := newMemFS(), start
	for i := range int64(5) {
		s := serve(t, fs, now)
		s.take(t, "k", limit.TokenBucket, 1, now)
		now += second
		s.Tick(now)
		if d, ok := s.store.Inspect([]byte("k"), now); !ok || d.Remaining != 999-i {
			t.Errorf("start %d: %+v", i, d)
		}
	}
	s := serve(t, fs, now)
	s.ticks(now)
	s.has(t, "buckets-000011.journal", "buckets-000011.snapshot") // each started a fold
}

func TestTornTail(t *testing.T) {
	for name, tail := range map[string][]byte{
		"half a section": {kindSlot, 100, 1, 2, 3},
		"zeros":          make([]byte, 1000),
		"half zeros":     append([]byte{kindSlot, 100, 1, 2, 3}, make([]byte, 1000)...),
	} {
		s := serve(t, newMemFS(), start)
		s.fill(t, start)
		s.Tick(start + second)
		want := content(s.store, start)
		size, _ := s.fs.Size("buckets-000001.journal")
		s.fs.names["buckets-000001.journal"].data = append(s.fs.names["buckets-000001.journal"].data, tail...)

		again := serve(t, s.fs, start+second)
		again.wasTold(t, fmt.Sprintf("torn buckets-000001.journal %d", size))
		if l := again.loaded; l.Torn != 1 || l.Corrupt != 0 || again.Stats().Torn != 1 {
			t.Errorf("%s: %d torn, %d corrupt", name, l.Torn, l.Corrupt)
		}
		sameContent(t, content(again.store, start), want)
		serve(t, again.fs, start+second).wasTold(t)
	}
}

func TestDamagedFilesAreKept(t *testing.T) {
	s := serve(t, newMemFS(), start)
	s.fill(t, start)
	now := start + second
	s.Tick(now)
	if err := s.Close(now); err != nil {
		t.Fatal(err)
	}
	all := content(s.store, now)
	s.fs.names["buckets-000002.snapshot"].data[200]++

	again := serve(t, s.fs, now)
	if l := again.loaded; l.Clean || l.Corrupt != 1 || l.Records >= 102 || l.Records < 95 {
		t.Errorf("clean %t, %d corrupt, %d records", l.Clean, l.Corrupt, l.Records)
	}
	left := content(again.store, now)
	for key, text := range left {
		if all[key] != text {
			t.Errorf("%s is %q, want %q", key, text, all[key])
		}
	}
	again.has(t, "buckets-000002.snapshot", "buckets-000003.journal")
	now = again.ticks(now)
	again.has(t, "buckets-000002.snapshot.damaged", "buckets-000004.journal", "buckets-000004.snapshot")
	if told := strings.Join(again.told, "\n"); !strings.Contains(told, "corrupt buckets-000002.snapshot: ") ||
		!strings.Contains(told, "aside buckets-000002.snapshot buckets-000002.snapshot.damaged") {
		t.Error(told)
	}
	sameContent(t, content(serve(t, again.fs, now).store, now), left)
}

// TestDamagedJournal: what is damaged in the midst of a journal is no torn end.
// What stands behind it is read, and the file kept.
func TestDamagedJournal(t *testing.T) {
	s := serve(t, newMemFS(), start)
	s.take(t, "a", limit.TokenBucket, 1, start)
	now := start + second
	s.Tick(now)
	size, _ := s.fs.Size("buckets-000001.journal")
	s.take(t, "b", limit.TokenBucket, 1, now)
	s.Tick(now + second)
	s.fs.names["buckets-000001.journal"].data[size-5]++

	now += 2 * second
	again := serve(t, s.fs, now)
	if l := again.loaded; l.Corrupt != 1 || l.Torn != 0 || l.Records != 1 {
		t.Errorf("%d corrupt, %d torn, %d records", l.Corrupt, l.Torn, l.Records)
	}
	again.ticks(now)
	again.has(t, "buckets-000001.journal.damaged", "buckets-000003.journal", "buckets-000003.snapshot")
}

// TestNothingLegible: a file of which nothing can be read is not in the way.
func TestNothingLegible(t *testing.T) {
	for _, data := range []string{"", "RLSNAP", "RLSNAP\x02", "something else", "RLSNAP\x01\x02\x00\x00\x00\x00\x00"} {
		fs := newMemFS()
		for i := range uint64(5) {
			fs.put(nameOf(i, snapshotSuffix)+asideSuffix, []byte("old"))
		}
		fs.put(nameOf(9, snapshotSuffix), []byte(data))
		fs.put(nameOf(10, snapshotSuffix)+unfinished, []byte(data))
		fs.put(nameOf(11, journalSuffix), bytes.Repeat([]byte("garbage"), 100))
		fs.put("raft.db", nil)
		s := serve(t, fs, start)
		if l := s.loaded; !l.Found || l.Clean || l.Corrupt != 2 {
			t.Errorf("%q: found %t, clean %t, %d corrupt", data, l.Found, l.Clean, l.Corrupt)
		}
		s.ticks(start)
		s.has(t, "buckets-000004.snapshot.damaged", "buckets-000009.snapshot.damaged", "buckets-000011.journal.damaged",
			"buckets-000013.journal", "buckets-000013.snapshot", "raft.db")
	}
}

// TestFullDisk: decisions go on, and when there is room again all is written.
func TestFullDisk(t *testing.T) {
	s := serve(t, newMemFS(), start, func(c *Config) { c.Reserve = 1000 })
	s.fill(t, start)
	now := start + second
	s.Tick(now)
	s.fs.fail = errDisk
	s.fill(t, now)
	now += second
	s.Tick(now)
	s.wasTold(t, "stopped: no space left on device")
	if got := s.Stats(); !got.Stopped || got.Failures != 1 {
		t.Errorf("%+v", got)
	}
	s.ops()
	s.fill(t, now)
	s.store.Reset([]byte("token-bucket-7"), now)
	s.Tick(now + second)
	if n := s.ops(); n > 0 {
		t.Errorf("%d calls before it is time to try again", n)
	}
	now += retryAfter
	s.Tick(now)
	if n := s.ops(); n == 0 {
		t.Error("it is not tried again")
	}
	s.wasTold(t)
	s.fs.fail, s.fs.space = nil, 1500 // not enough beside the reserve
	now += retryAfter
	s.fs.space = 900
	s.Tick(now)
	s.wasTold(t)
	s.fs.space = 1 << 20
	now += retryAfter
	s.Tick(now)
	s.wasTold(t, "resumed")
	if got := s.Stats(); got.Stopped || got.Failures != 1 {
		t.Errorf("%+v", got)
	}
	now = s.ticks(now)
	s.wasTold(t, "saved buckets-000004.snapshot 101")
	sameContent(t, content(serve(t, s.fs, now).store, now), content(s.store, now))
}

func TestReserveIsKept(t *testing.T) {
	s := serve(t, newMemFS(), start)
	s.fs.space = DefaultReserve - 1
	s.fill(t, start)
	now := start + second
	s.Tick(now)
	s.wasTold(t, fmt.Sprintf("stopped: the disk is full but for the reserve: %d bytes are free", DefaultReserve-1))

	// A snapshot that has no room is put off; the journal goes on.
	s = serve(t, newMemFS(), start)
	s.fs.space = DefaultReserve + 1000
	s.snapshotBytes, s.foldSoon = 2000, true
	for range 5 {
		s.take(t, "k", limit.TokenBucket, 1, now)
		now += second
		s.Tick(now)
	}
	s.wasTold(t)
	if got := s.Stats(); got.JournalRecords != 5 || got.Saves != 0 {
		t.Errorf("%+v", got)
	}
}

func TestCloseOnFullDisk(t *testing.T) {
	s := serve(t, newMemFS(), start)
	s.fill(t, start)
	now := start + second
	s.Tick(now)
	s.fs.fail = errDisk
	if err := s.Close(now); !errors.Is(err, errDisk) {
		t.Error(err)
	}
	s.fs.fail = nil
	again := serve(t, s.fs, now)
	if again.loaded.Clean {
		t.Error("clean without a snapshot")
	}
	sameContent(t, content(again.store, now), content(s.store, now))
}

// TestTooLongKey: one key that no file takes does not stop all others.
func TestTooLongKey(t *testing.T) {
	s := serve(t, newMemFS(), start)
	long := state.Ask{Slot: 7, Key: bytes.Repeat([]byte("k"), maxKey+1), Spec: slow(0)}
	other := state.Ask{Slot: 7, Key: []byte("other"), Spec: slow(0)}
	if _, err := s.store.DecideAll([]state.Ask{long, other}, limit.Request{Cost: 1}, start, make([]limit.Decision, 2)); err != nil {
		t.Fatal(err)
	}
	s.Tick(start + second)
	if got := s.Stats(); got.Stopped || got.JournalRecords != 1 || got.TooLong != 1 {
		t.Errorf("%+v", got)
	}
	if err := s.Close(start + second); err != nil || s.Stats().TooLong != 2 {
		t.Errorf("%v, %+v", err, s.Stats())
	}
}

func TestStoreMustCollect(t *testing.T) {
	store, err := state.New(state.Config{Hash: func([]byte) uint64 { return 1 }, Rand: func() uint64 { return 1 }})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(Config{FS: newMemFS(), Store: store}, start); err == nil {
		t.Error("a store that keeps no changes was taken")
	}
}

func TestMetaIsKept(t *testing.T) {
	meta := func(c *Config) {
		c.Meta = func(slot uint16) (version, sequence uint64) { return uint64(slot) + 1, 7 }
	}
	s := serve(t, newMemFS(), start, meta)
	s.store.Lose(3, start)
	s.Tick(start + second)
	again := serve(t, s.fs, start+second)
	if got := again.loaded.Slots; got[3] != (SlotState{4, 7}) || got[4] != (SlotState{}) || again.store.LossAt(3) != start {
		t.Errorf("%v %v, lost at %d", got[3], got[4], again.store.LossAt(3))
	}
	if err := s.Close(start + second); err != nil {
		t.Fatal(err)
	}
	if got := serve(t, s.fs, start).loaded.Slots; got[3] != (SlotState{4, 7}) || got[16383] != (SlotState{16384, 7}) {
		t.Errorf("%v %v", got[3], got[16383])
	}
}

func TestTimeBetween(t *testing.T) {
	spec := limit.Spec{Limit: 100, Window: 100 * second, Burst: 100}
	s := serve(t, newMemFS(), start)
	if _, err := s.store.Decide([]byte("k"), spec, limit.Request{Cost: 50}, start); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(start + 10*second); err != nil {
		t.Fatal(err)
	}
	for after, want := range map[int64]int64{0: 60, 5 * second: 65, 40 * second: 100, -400 * day: 60} {
		now := start + 10*second + after
		d, _ := serve(t, s.fs.crash(rand.New(rand.NewPCG(1, 1))), now).store.Decide([]byte("k"), spec, limit.Request{}, now)
		if d.Remaining != want {
			t.Errorf("after %d s %d remain, want %d", after/second, d.Remaining, want)
		}
	}
}

func TestParseSync(t *testing.T) {
	for _, p := range []SyncPolicy{SyncSecond, SyncAlways, SyncOff} {
		if got, err := ParseSync(p.String()); got != p || err != nil {
			t.Errorf("%s: %v, %v", p, got, err)
		}
	}
	if _, err := ParseSync("2s"); err == nil {
		t.Error("2s was taken")
	}
}

// TestDir runs on a real directory.
func TestDir(t *testing.T) {
	dir := Dir(t.TempDir())
	s := &server{store: newStore(t)}
	d, _, err := Open(Config{FS: dir, Store: s.store, Node: "n", Reserve: 1}, start)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		s.take(t, fmt.Sprintf("k%d", i), limit.TokenBucket, 1, start)
	}
	d.Tick(start + second)
	if got := d.Stats(); got.Stopped || got.JournalRecords != 1000 {
		t.Fatalf("%+v", got)
	}
	// As if the process had been killed.
	journal := nameOf(1, journalSuffix)
	size, err := dir.Size(journal)
	if err == nil {
		err = dir.Truncate(journal, size-3)
	}
	if err != nil {
		t.Fatal(err)
	}
	d2, loaded, err := Open(Config{FS: dir, Store: newStore(t), Node: "n", Reserve: 1}, start)
	if err != nil || loaded.Torn != 1 || loaded.Records < 990 || loaded.Clean {
		t.Fatalf("%+v %d torn, %d records", err, loaded.Torn, loaded.Records)
	}
	if err := errors.Join(d.Close(start), d2.Close(start)); err != nil {
		t.Fatal(err)
	}
}
