package state

import (
	"testing"

	"github.com/rlserver/rlserver/limit"
)

// A log that fits when it is full is not refused on the way there, however
// little memory there is beside it; and it is not copied to find out.
func TestLogThatFitsIsAdmitted(t *testing.T) {
	s := newStore(t, maxMemory(1<<20))
	spec := limit.Spec{Algorithm: limit.SlidingLog, Limit: 50_000, Window: 3600 * second, Burst: 50_000}
	for i := range spec.Limit {
		if d := mustDecide(t, s, "log", spec, take(1), start+i); d.Allowed != 1 {
			t.Fatalf("request %d: %+v", i, d)
		}
	}
	full := start + spec.Limit
	if d := mustDecide(t, s, "log", spec, take(1), full); d.Allowed != 0 {
		t.Errorf("%+v: more than the limit", d)
	}
	key := []byte("log")
	if n := testing.AllocsPerRun(100, func() {
		if _, err := s.Decide(key, spec, take(1), full); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a denial", n)
	}
	if _, _, found, err := s.Refund(key, 200, full); !found || err != nil {
		t.Errorf("refund: %v, %v", found, err)
	}
	if d := mustDecide(t, s, "log", spec, take(1), full); d.Allowed != 1 || d.Remaining != 199 {
		t.Errorf("after a refund: %+v", d)
	}
	checkStore(t, s)
}
