package state

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlserver/rlserver/limit"
)

func TestNewNamesAllThatIsWrong(t *testing.T) {
	_, err := New(Config{MaxMemory: -1, SweepIdle: -time.Second})
	if err == nil {
		t.Fatal("no error")
	}
	for _, word := range []string{"MaxMemory", "SweepIdle", "Hash", "Rand"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not name %s", err, word)
		}
	}
}

func TestNewFillsInDefaults(t *testing.T) {
	s := newStore(t)
	if got := s.Stats().MaxMemory; got != DefaultMaxMemory {
		t.Errorf("MaxMemory = %d", got)
	}
	if got := s.sweepIdle.Load(); got != DefaultSweepIdle.Nanoseconds() {
		t.Errorf("sweepIdle = %d", got)
	}
}

// TestSteps walks through the life of a key.
func TestSteps(t *testing.T) {
	s := newStore(t)
	five := limit.Spec{Limit: 5, Window: 10 * second, Burst: 5} // one in 2 s
	for i, step := range []struct {
		at   int64 // milliseconds
		req  limit.Request
		want limit.Decision
		keys int64
	}{
		{0, limit.Request{Cost: 2, Peek: true}, limit.Decision{Allowed: 1, Limit: 5, Remaining: 3, ResetMS: 4000}, 0},
		{0, limit.Request{}, limit.Decision{Allowed: 1, Limit: 5, Remaining: 5}, 0},
		{0, take(6), limit.Decision{Limit: 5, Remaining: 5, WaitMS: -1}, 0},
		{0, take(4), limit.Decision{Allowed: 1, Limit: 5, Remaining: 1, ResetMS: 8000}, 1},
		{0, take(2), limit.Decision{Limit: 5, Remaining: 1, WaitMS: 2000, ResetMS: 8000}, 1},
		{1999, take(2), limit.Decision{Limit: 5, Remaining: 1, WaitMS: 1, ResetMS: 6001}, 1},
		{2000, take(2), limit.Decision{Allowed: 1, Limit: 5, ResetMS: 10000}, 1},
		{2000, limit.Request{Cost: 1, AtMost: true}, limit.Decision{Limit: 5, WaitMS: 2000, ResetMS: 10000}, 1},
		{7000, limit.Request{Cost: 9, AtMost: true}, limit.Decision{Allowed: 2, Limit: 5, ResetMS: 9000}, 1},
		{99000, take(1), limit.Decision{Allowed: 1, Limit: 5, Remaining: 4, ResetMS: 2000}, 1},
	} {
		got := mustDecide(t, s, "k", five, step.req, start+step.at*1e6)
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
		if s.Len() != step.keys {
			t.Errorf("step %d: %d keys, want %d", i, s.Len(), step.keys)
		}
	}
	checkStore(t, s)
}

// A probe creates no key and moves nothing; nor does a denial.
func TestProbesLeaveNoTrace(t *testing.T) {
	s := newStore(t)
	empty := s.Stats()
	for _, req := range []limit.Request{{}, {Cost: 1, Peek: true}, {Cost: 101}, {Cost: 101, Peek: true}} {
		mustDecide(t, s, "new", perMinute, req, start)
	}
	if diff := cmp.Diff(empty, s.Stats()); diff != "" {
		t.Errorf("an unknown key left a trace (-want +got):\n%s", diff)
	}

	mustDecide(t, s, "used", perMinute, take(60), start)
	want, _ := s.Inspect([]byte("used"), start+30*second)
	stats := s.Stats()
	other := limit.Spec{Limit: 50, Window: 60 * second, Burst: 50, Algorithm: limit.SlidingLog}
	for _, spec := range []limit.Spec{perMinute, other} {
		for _, req := range []limit.Request{{}, {Cost: 1, Peek: true}, {Cost: 91}} {
			mustDecide(t, s, "used", spec, req, start+30*second)
		}
	}
	got, _ := s.Inspect([]byte("used"), start+30*second)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a known key was changed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(stats, s.Stats()); diff != "" {
		t.Errorf("a known key left a trace (-want +got):\n%s", diff)
	}
	checkStore(t, s)
}

func TestKeyIsNotRetained(t *testing.T) {
	s := newStore(t)
	for _, name := range []string{"short", "a key of 20 and some", strings.Repeat("long", 20)} {
		key := []byte(name)
		if _, err := s.Decide(key, perMinute, take(1), start); err != nil {
			t.Fatal(err)
		}
		for i := range key {
			key[i] = 'x'
		}
		if _, ok := s.FullIn([]byte(name), start); !ok {
			t.Errorf("%q was lost when the caller reused its buffer", name)
		}
	}
	checkStore(t, s)
}

func TestInspect(t *testing.T) {
	s := newStore(t)
	key := []byte("user:42")
	if _, ok := s.Inspect(key, start); ok {
		t.Error("an unknown key was found")
	}
	mustDecide(t, s, "user:42", perMinute, take(50), start)
	mustDecide(t, s, "user:42", perMinute, take(61), start+6*second) // denied: not a use
	got, ok := s.Inspect(key, start+6*second)
	if !ok {
		t.Fatal("not found")
	}
	if got.IdleMS > 6000 || got.IdleMS < 6000-537 {
		t.Errorf("IdleMS = %d, want about 6000", got.IdleMS)
	}
	got.IdleMS = 0
	want := Info{Spec: perMinute, Remaining: 60, ResetMS: 24000, Bytes: 48 + 32 + 16}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, ok := s.Inspect(key, start+30*second); ok {
		t.Error("a full key was found")
	}
}

func TestFullIn(t *testing.T) {
	s := newStore(t)
	mustDecide(t, s, "k", perMinute, take(50), start)
	for _, tt := range []struct {
		key  string
		at   int64
		want int64
	}{
		{"unknown", start, 0},
		{"k", start, 30 * second},
		{"k", start + 30*second - 1, 1},
		{"k", start + 30*second, 0},
		{"k", start + 1000*day, 0},
	} {
		got, ok := s.FullIn([]byte(tt.key), tt.at)
		if got != tt.want || ok != (tt.want > 0) {
			t.Errorf("FullIn(%s, +%d) = %d, %v, want %d", tt.key, tt.at-start, got, ok, tt.want)
		}
	}
}

func TestReset(t *testing.T) {
	s := newStore(t)
	key := []byte("k")
	if s.Reset(key, start) {
		t.Error("an unknown key was reset")
	}
	mustDecide(t, s, "k", perMinute, take(100), start)
	if !s.Reset(key, start) || s.Len() != 0 {
		t.Error("a used key was not reset")
	}
	if d := mustDecide(t, s, "k", perMinute, take(100), start); d.Allowed != 1 {
		t.Error("the key is not as new")
	}
	if s.Reset(key, start+60*second) {
		t.Error("a full key was reported as used")
	}
	checkStore(t, s)
}

func TestRefund(t *testing.T) {
	log := limit.Spec{Limit: 10, Window: 60 * second, Burst: 10, Algorithm: limit.SlidingLog}
	leaky := limit.Spec{Limit: 10, Window: 60 * second, Burst: 10, Algorithm: limit.LeakyBucket}
	type reply struct {
		Refunded, Remaining int64
		Found               bool
		Err                 error
	}
	s := newStore(t)
	mustDecide(t, s, "token", perMinute, take(10), start)
	for range 8 {
		mustDecide(t, s, "log", log, take(1), start)
	}
	mustDecide(t, s, "leaky", leaky, take(5), start)
	for i, step := range []struct {
		key  string
		n    int64
		at   int64
		want reply
	}{
		{"unknown", 1, start, reply{}},
		{"token", 4, start, reply{4, 94, true, nil}},
		{"token", 0, start, reply{0, 94, true, nil}},
		{"token", 9, start, reply{6, 100, true, nil}},
		{"token", 9, start, reply{}}, // full now
		{"log", 3, start, reply{3, 5, true, nil}},
		{"log", 3, start + 60*second, reply{}}, // full by then
		{"leaky", 1, start, reply{0, 0, true, limit.ErrRefundLeaky}},
		{"leaky", 1, start + 30*second, reply{}},
	} {
		var got reply
		got.Refunded, got.Remaining, got.Found, got.Err = s.Refund([]byte(step.key), step.n, step.at)
		if !errors.Is(got.Err, step.want.Err) {
			t.Errorf("step %d: error %v, want %v", i, got.Err, step.want.Err)
		}
		got.Err = step.want.Err
		if got != step.want {
			t.Errorf("step %d: %+v, want %+v", i, got, step.want)
		}
	}
	checkStore(t, s)
}

// Keys whose hashes are equal are different keys all the same.
func TestCollidingHashes(t *testing.T) {
	s := newStore(t, func(c *Config) { c.Hash = func([]byte) uint64 { return 7 } })
	keys := []string{"{a}1", "{a}2", "{a}3", "{b}1", "{a}a key of more than 32 bytes, so elsewhere"}
	for i, key := range keys {
		mustDecide(t, s, key, perMinute, take(int64(i+1)), start)
	}
	checkStore(t, s)
	remaining := func(key string) int64 {
		return mustDecide(t, s, key, perMinute, limit.Request{}, start).Remaining
	}
	for i, key := range keys {
		if got := remaining(key); got != int64(100-i-1) {
			t.Errorf("%q has %d left, want %d", key, got, 100-i-1)
		}
	}
	if got := s.CountInSlot(Slot([]byte("{a}"))); got != 4 {
		t.Errorf("%d keys in the slot, want 4", got)
	}
	// Out of the middle, from the end and from the front of the chain.
	for _, key := range []string{"{a}2", "{a}1", keys[4]} {
		if !s.Reset([]byte(key), start) {
			t.Errorf("%q was not there", key)
		}
		if got := remaining(key); got != 100 {
			t.Errorf("%q has %d left after its reset", key, got)
		}
		checkStore(t, s)
	}
	if got := remaining("{a}3"); got != 97 {
		t.Errorf("{a}3 has %d left, want 97", got)
	}
	if n := s.Flush(); n != 2 {
		t.Errorf("%d flushed, want 2", n)
	}
	checkStore(t, s)
}

// What was used stays used when the rule changes, and the entry follows.
func TestRuleChanges(t *testing.T) {
	s := newStore(t)
	wider := limit.Spec{Limit: 200, Window: 60 * second, Burst: 200}
	log := limit.Spec{Limit: 200, Window: 60 * second, Burst: 200, Algorithm: limit.SlidingLog}
	for i, step := range []struct {
		spec        limit.Spec
		cost        int64
		remaining   int64
		conversions int64
	}{
		{perMinute, 100, 0, 0},
		{perMinute, 1, 0, 0},
		{wider, 101, 100, 0}, // denied: the old rule stays
		{wider, 50, 50, 1},
		{log, 10, 40, 2},
		{log, 10, 30, 2},
		{wider, 30, 0, 3},
	} {
		d := mustDecide(t, s, "k", step.spec, take(step.cost), start)
		if d.Remaining != step.remaining {
			t.Errorf("step %d: %d remain, want %d", i, d.Remaining, step.remaining)
		}
		if got := s.Stats().Conversions; got != step.conversions {
			t.Errorf("step %d: %d conversions, want %d", i, got, step.conversions)
		}
		checkStore(t, s)
	}
}

func TestFlush(t *testing.T) {
	s := newStore(t)
	if n := s.Flush(); n != 0 {
		t.Errorf("%d flushed from an empty store", n)
	}
	for i := range 3000 {
		key := testKey(i)
		mustDecide(t, s, string(key[:]), perMinute, take(1), start)
		mustDecide(t, s, "{tag}"+string(key[:]), perYear, take(1), start)
	}
	if n := s.Flush(); n != 6000 {
		t.Errorf("%d flushed, want 6000", n)
	}
	if got := s.Stats(); got.Keys != 0 || got.MemoryBytes != 0 || got.Specs != 0 {
		t.Errorf("after Flush: %+v", got)
	}
	checkStore(t, s)
}

// A decision for a key that has a bucket allocates nothing.
func TestDecideDoesNotAllocate(t *testing.T) {
	s := newStore(t)
	now := start
	for _, a := range limit.Algorithms() {
		spec := limit.Spec{Limit: 50, Window: second, Burst: 50, Algorithm: a}
		key := []byte("key of " + a.String())
		decide := func(cost int64) {
			now += 10_000_000 // a hundred a second: half are denied
			if _, err := s.Decide(key, spec, take(cost), now); err != nil {
				t.Fatal(err)
			}
		}
		for range 1000 { // long enough for a log to have its size
			decide(1)
		}
		for name, cost := range map[string]int64{"asked": 1, "denied": 51, "looked at": 0} {
			if n := testing.AllocsPerRun(1000, func() { decide(cost) }); n > 0 {
				t.Errorf("%s, %s: %v allocations", a, name, n)
			}
		}
	}
}

// A refused state changes nothing, and the key is usable afterwards.
func TestErrNoRoom(t *testing.T) {
	s := newStore(t, maxMemory(4000))
	log := limit.Spec{Limit: 100_000, Window: day, Burst: 100_000, Algorithm: limit.SlidingLog}
	mustDecide(t, s, "small", perYear, take(1), start)

	if _, err := s.Decide([]byte(strings.Repeat("k", 4000)), perYear, take(1), start); !errors.Is(err, ErrNoRoom) {
		t.Errorf("a key larger than the memory: error %v", err)
	}
	if s.Len() != 1 {
		t.Error("other keys were evicted for what can never fit")
	}

	admitted := int64(0)
	var err error
	for i := int64(0); err == nil && i < 1000; i++ {
		if _, err = s.Decide([]byte("log"), log, take(1), start+i); err == nil {
			admitted++
		}
	}
	if !errors.Is(err, ErrNoRoom) {
		t.Fatalf("a log larger than the memory: error %v after %d", err, admitted)
	}
	if admitted < 64 {
		t.Errorf("only %d entries fit into 4,000 bytes", admitted)
	}
	if got := s.Stats(); got.MemoryBytes > 4000 || got.NoRoom != 2 {
		t.Errorf("after ErrNoRoom: %+v", got)
	}
	d := mustDecide(t, s, "log", log, limit.Request{}, start+1000)
	if d.Remaining != log.Limit-admitted {
		t.Errorf("%d remain, want %d: ErrNoRoom changed the key", d.Remaining, log.Limit-admitted)
	}
	// A day later most of the log has left its window, and it goes on.
	mustDecide(t, s, "log", log, take(1), start+day+admitted-2)
	checkStore(t, s)
}
