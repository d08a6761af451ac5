package snapshot

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/rlserver/rlserver/limit"
)

// counts is how many units keys have used.
type counts map[string]int64

func (s *server) used(keys int, now int64) counts {
	all := counts{}
	for i := range keys {
		key := fmt.Sprint(i)
		if info, ok := s.store.Inspect([]byte(key), now); ok {
			all[key] = slow(0).Burst - info.Remaining
		}
	}
	return all
}

// life is what a server did until its power went.
type life struct {
	used    counts // in the end
	synced  counts // of that, what must be found
	closing bool   // it was being stopped
	clean   bool   // and was
}

const crashKeys = 12

// TestCrashes lets the power go at any call of a server that counts, folds,
// stops and starts. What was synced is found, what was not is found at most as
// it was, and where a clean stop is found nothing is missing.
func TestCrashes(t *testing.T) {
	clean, all := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		fs, now := newMemFS(), start
		was := life{synced: counts{}, used: counts{}}
		for range rapid.IntRange(1, 5).Draw(rt, "lives") {
			fs.crashAt = fs.ops + rapid.IntRange(1, 150).Draw(rt, "power")
			now += second
			s := &server{store: newStore(t), fs: fs}
			next := life{used: was.synced, synced: was.synced, closing: was.closing}
			var err error
			if s.Disk, s.loaded, err = Open(s.config(), now); err == nil {
				next = s.live(t, r, was.synced, &now)
			}

			fs = fs.crash(r)
			again := &server{store: newStore(t), fs: fs}
			now += second
			if again.Disk, again.loaded, err = Open(again.config(), now); err != nil {
				rt.Fatal(err)
			}
			l := again.loaded
			if l.Corrupt > 0 {
				rt.Fatalf("damaged by a crash: %q", again.told)
			}
			if l.Clean && !next.closing || next.clean && !l.Clean {
				rt.Fatalf("clean is %t after %+v", l.Clean, next)
			}
			if l.Clean {
				next.synced = next.used
				clean++
			}
			found := again.used(crashKeys, now)
			for i := range crashKeys {
				key := fmt.Sprint(i)
				if found[key] < next.synced[key] || found[key] > next.used[key] {
					rt.Fatalf("%s used %d, want %d to %d", key, found[key], next.synced[key], next.used[key])
				}
			}
			// What was found is durable: another crash finds the same.
			fs, was = fs.crash(r), life{used: found, synced: found}
			all++
		}
	})
	if t.Logf("%d crashes, %d of them after a clean stop", all, clean); clean == 0 || clean == all {
		t.Error("one kind is missing")
	}
}

// live serves until the power goes or it is stopped.
func (s *server) live(t *testing.T, r *rand.Rand, synced counts, now *int64) life {
	t.Helper()
	for !s.crashed() {
		for range r.IntN(20) {
			s.take(t, fmt.Sprint(r.IntN(crashKeys)), limit.TokenBucket, 1, *now)
		}
		switch r.IntN(40) {
		case 0:
			s.foldSoon = true
		case 1:
			err := s.Close(*now)
			used := s.used(crashKeys, *now)
			return life{used: used, synced: synced, closing: true, clean: err == nil && !s.crashed()}
		}
		*now += int64(r.IntN(int(second)))
		before := s.Stats()
		s.Tick(*now)
		after := s.Stats()
		if !s.crashed() && !after.Stopped && after.Syncs > before.Syncs && s.written == *now {
			synced = s.used(crashKeys, *now)
		}
	}
	return life{used: s.used(crashKeys, *now), synced: synced}
}

// crashed says whether the power has gone.
func (s *server) crashed() bool { return s.fs.ops >= s.fs.crashAt }
