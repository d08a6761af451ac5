package snapshot

import (
	"fmt"
	"testing"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/state"
)

const benchKeys = 1_000_000

// million is a disk whose store has a million keys.
func million(b *testing.B) (Dir, *server) {
	b.Helper()
	dir := Dir(b.TempDir())
	s := &server{store: newStore(b)}
	for i := range benchKeys {
		s.take(b, fmt.Sprintf("user:%011d", i), limit.TokenBucket, 1, start)
	}
	var err error
	s.Disk, s.loaded, err = Open(Config{FS: dir, Store: s.store, Reserve: 1}, start)
	if err != nil {
		b.Fatal(err)
	}
	return dir, s
}

// BenchmarkSave1M is a clean stop, and BenchmarkLoad1M the start after it.
func BenchmarkSave1M(b *testing.B) {
	dir, s := million(b)
	for b.Loop() {
		if err := s.Close(start); err != nil {
			b.Fatal(err)
		}
	}
	names, err := dir.List()
	if err != nil {
		b.Fatal(err)
	}
	size, err := dir.Size(names[0])
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(size)/benchKeys, "bytes/key")
}

func BenchmarkLoad1M(b *testing.B) {
	dir, s := million(b)
	if err := s.Close(start); err != nil {
		b.Fatal(err)
	}
	s.store = nil
	for b.Loop() {
		b.StopTimer()
		store := newStore(b)
		b.StartTimer()
		d, loaded, err := Open(Config{FS: dir, Store: store, Reserve: 1}, start)
		if err != nil || loaded.Records != benchKeys {
			b.Fatal(err, loaded.Records)
		}
		b.StopTimer()
		_ = d.journal.file.Close() // as a crash does
		b.StartTimer()
	}
}

// BenchmarkTick is a second's changes among a million keys: of so many.
func BenchmarkTick(b *testing.B) {
	for _, changed := range []int{0, 1, 1000, 50_000} {
		b.Run(fmt.Sprint(changed), func(b *testing.B) {
			_, s := million(b)
			now := start + second
			s.Tick(now)
			for n := 0; b.Loop(); n++ {
				b.StopTimer()
				now += second
				for i := range changed {
					s.take(b, fmt.Sprintf("user:%011d", (i*7919+n)%benchKeys), limit.TokenBucket, 1, now)
				}
				b.StartTimer()
				if err := s.writeChanges(now); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFold is a whole new snapshot beside decisions: one Tick's part of it
// is a 32nd.
func BenchmarkFold(b *testing.B) {
	_, s := million(b)
	now := start
	for b.Loop() {
		s.foldSoon = true
		for s.foldSoon || s.fold != nil {
			now += ms
			if err := s.goOnFolding(now, foldSlots); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/(state.Slots/foldSlots), "ms/tick")
}
