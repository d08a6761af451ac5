package raftfsm

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/rlserver/rlserver/policy"
)

// nodeID is the id of the n-th node of a test.
func nodeID(n int) string { return fmt.Sprintf("%040x", n) }

func requestID(n uint64) (id RequestID) {
	copy(id[:], fmt.Sprintf("%016x", n))
	return id
}

// rule compiles a policy that is given as JSON fields.
func rule(tb testing.TB, name, fields string) *policy.Rule {
	tb.Helper()
	r, err := policy.ReadOne([]byte("{"+fields+"}"), name, bounds())
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// machine is an FSM with a log of its own.
type machine struct {
	*FSM
	tb     testing.TB
	index  uint64
	halted error
}

func newMachine(tb testing.TB) *machine {
	tb.Helper()
	m := &machine{tb: tb}
	m.FSM = NewFSM(func(err error) { m.halted = err })
	return m
}

// entry applies one entry as the log's next.
func (m *machine) entry(data []byte) any {
	m.index++
	return m.Apply(&raft.Log{Index: m.index, Type: raft.LogCommand, Data: data})
}

// do applies a command under an id of its own.
func (m *machine) do(c Command) Result {
	m.tb.Helper()
	result, ok := m.entry(Encode(requestID(m.index+1), c)).(Result)
	if !ok {
		m.tb.Fatalf("%+v halted: %v", c, m.halted)
	}
	return result
}

// must applies a command that is not refused.
func (m *machine) must(c Command) Result {
	m.tb.Helper()
	r := m.do(c)
	if r.Refusal != Done {
		m.tb.Fatalf("%+v was refused: %+v", c, r)
	}
	return r
}

// bytes is a snapshot of it.
func (m *machine) bytes() []byte {
	m.tb.Helper()
	s, err := m.Snapshot()
	if err != nil {
		m.tb.Fatal(err)
	}
	var sink memorySink
	if err := s.Persist(&sink); err != nil {
		m.tb.Fatal(err)
	}
	return sink.Bytes()
}

// restored is a machine that starts from a snapshot.
func restored(tb testing.TB, b []byte, index uint64) *machine {
	tb.Helper()
	m := newMachine(tb)
	m.index = index
	if err := m.Restore(io.NopCloser(bytes.NewReader(b))); err != nil {
		tb.Fatal(err)
	}
	return m
}

type memorySink struct{ bytes.Buffer }

func (*memorySink) ID() string    { return "memory" }
func (*memorySink) Cancel() error { return nil }
func (*memorySink) Close() error  { return nil }

// randomCommand draws from a small world, so that commands meet.
func randomCommand(tb testing.TB, rng *rand.Rand) Command {
	tb.Helper()
	random := func(list string) string {
		all := strings.Fields(list)
		return all[rng.IntN(len(all))]
	}
	wanted := func() *uint64 {
		if rng.IntN(3) > 0 {
			return nil
		}
		version := rng.Uint64N(40)
		return &version
	}
	randomRule := func(name string) *policy.Rule {
		return rule(tb, name, fmt.Sprintf(`"limit": %d, "window": "1s", "tier": %q, "scope": "s%d"`, rng.IntN(3)+1, random("gold free"), rng.IntN(20)))
	}
	someSlots := func() (all []SlotVersion) {
		for range rng.IntN(3) + 1 {
			all = append(all, SlotVersion{uint16(rng.IntN(4)), uint64(rng.IntN(300))})
		}
		return all
	}
	epoch := func() uint64 { return uint64(rng.IntN(300)) }
	switch rng.IntN(15) {
	case 14:
		return NodeDrain{nodeID(rng.IntN(4)), rng.IntN(2) == 0, rng.IntN(2) == 0}
	case 10:
		first := uint16(rng.IntN(Slots))
		return Assign{nodeID(rng.IntN(4)), []Range{{first, first + uint16(rng.IntN(Slots-int(first)))}}}
	case 11:
		return TakeOver{nodeID(rng.IntN(4)), epoch(), []string{nodeID(1), nodeID(2)}, []Witness{{nodeID(1), epoch()}}, rng.IntN(2) == 0}
	case 12:
		return Move{nodeID(rng.IntN(4)), epoch(), nodeID(rng.IntN(4)), epoch(), someSlots()}
	case 13:
		return AbortMove{nodeID(rng.IntN(4)), epoch(), someSlots()}
	case 0:
		return Found{nodeID(99)}
	case 1:
		n := rng.IntN(4)
		return Register{Member{ID: nodeID(n), Name: random("a b c"), Addr: fmt.Sprintf("h%d:7379", n), BusAddr: "h:1", Nonce: rng.Uint64(), Count: 1, Level: Level, Lease: 1e9}}
	case 2:
		return NodeRemove{nodeID(rng.IntN(4))}
	case 3:
		return NodeAdd{random("a b c")}
	case 4:
		return PolicyDelete{random("p q r"), wanted()}
	case 5:
		c := PolicyReplace{Keep: rng.IntN(2) == 0}
		for _, name := range []string{"p", "q", "r"} {
			if rng.IntN(2) == 0 {
				c.Rules = append(c.Rules, randomRule(name))
			}
		}
		return c
	}
	return PolicySet{randomRule(random("p q r")), wanted()}
}
