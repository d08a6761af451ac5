package raftfsm

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

// newSlotsMachine has the nodes 1 to n, which all vote.
func newSlotsMachine(t *testing.T, n int) *machine {
	t.Helper()
	m := newMachine(t)
	var c raft.Configuration
	for i := 1; i <= n; i++ {
		m.registers(i)
		c.Servers = append(c.Servers, raft.Server{Suffrage: raft.Voter, ID: raft.ServerID(nodeID(i))})
	}
	m.index++
	m.StoreConfiguration(m.index, c)
	return m
}

func (m *machine) registers(i int) {
	m.tb.Helper()
	m.must(Register{Member{ID: nodeID(i), Name: fmt.Sprintf("n%d", i), Nonce: uint64(i), Count: 1, Level: Level, Lease: 1e9}})
}

func (m *machine) epoch(i int) uint64 {
	member, _ := m.View().Member(nodeID(i))
	return member.Epoch
}

func (m *machine) witnesses(all ...int) (list []Witness) {
	for _, i := range all {
		list = append(list, Witness{nodeID(i), m.epoch(i)})
	}
	return list
}

// refused expects a command to be refused with a reason, and to change nothing.
func (m *machine) refused(c Command, reason string) {
	m.tb.Helper()
	before := m.View().slots
	if r := m.do(c); r.Refusal != RefusedReason || !strings.Contains(r.Reason, reason) {
		m.tb.Errorf("%+v: %+v, want a refusal with %q", c, r, reason)
	}
	if m.View().slots != before {
		m.tb.Errorf("%+v was refused and changed slots", c)
	}
}

func TestAssign(t *testing.T) {
	m := newSlotsMachine(t, 3)
	first := m.must(Assign{nodeID(1), []Range{{0, 99}, {16383, 16383}}}).Version
	second := m.must(Assign{nodeID(2), []Range{{50, 199}}}).Version
	v := m.View()
	for slot, want := range map[uint16]Slot{
		0: {nodeID(1), first, 0}, 99: {nodeID(1), first, 0}, 100: {nodeID(2), second, 0}, 199: {nodeID(2), second, 0}, 200: {}, 16383: {nodeID(1), first, 0},
	} {
		if got := v.Slot(slot); got != want {
			t.Errorf("slot %d: %+v, want %+v", slot, got, want)
		}
	}
	if v.Owned(nodeID(1)) != 101 || v.Owned(nodeID(2)) != 100 || v.Owned(nodeID(3)) != 0 {
		t.Error("wrong counts")
	}
	m.refused(Assign{nodeID(9), []Range{{200, 200}}}, "is no member")
	m.refused(NodeRemove{nodeID(1)}, "votes")
}

// TestTakeOver is rule 5: a majority of those who vote now, with the epochs
// that they have now, against the epoch that the node has now.
func TestTakeOver(t *testing.T) {
	m := newSlotsMachine(t, 3)
	m.must(Assign{nodeID(1), []Range{{0, 16383}}})
	targets := []string{nodeID(1), nodeID(2), nodeID(3), nodeID(2)}
	one, epoch := m.witnesses(2), m.epoch(1)
	m.refused(TakeOver{nodeID(1), epoch, targets, one, false}, "1 of the voters bear witness, 2 must")
	m.refused(TakeOver{nodeID(1), epoch, targets, append(one, one...), false}, "1 of the voters")
	m.refused(TakeOver{nodeID(1), epoch + 1, targets, m.witnesses(2, 3), false}, "has not the epoch")
	stale := m.witnesses(2, 3)
	m.registers(3)
	m.refused(TakeOver{nodeID(1), epoch, targets, stale, false}, "1 of the voters")
	version := m.must(TakeOver{nodeID(1), epoch, targets, m.witnesses(2, 3), false}).Version
	if v := m.View(); v.Owned(nodeID(2)) != 8192 || v.Owned(nodeID(3)) != 8192 || v.Slot(7).Version != version || m.epoch(1) != 0 {
		t.Errorf("%d and %d slots", v.Owned(nodeID(2)), v.Owned(nodeID(3)))
	}
	m.refused(TakeOver{nodeID(1), epoch, targets, m.witnesses(2, 3), false}, "has not the epoch")
	// Nobody is up: the slots are nobody's.
	m.must(TakeOver{nodeID(2), m.epoch(2), nil, nil, true})
	if v := m.View(); v.Owned(nodeID(2)) != 0 || v.Owned(nodeID(3)) != 8192 {
		t.Error("slots of a node that is down")
	}
	m.registers(1)
	m.must(Assign{nodeID(1), []Range{{0, 16383}}})
	if n := m.View().Owned(nodeID(1)); n != 8192 {
		t.Errorf("%d slots were nobody's", n)
	}
}

func TestMove(t *testing.T) {
	m := newSlotsMachine(t, 3)
	version := m.must(Assign{nodeID(1), []Range{{0, 9}}}).Version
	slots := []SlotVersion{{3, version}, {4, version}}
	move := Move{nodeID(1), m.epoch(1), nodeID(2), m.epoch(2), slots}
	wrong := move
	wrong.Slots = []SlotVersion{{3, version}, {4, version + 1}}
	m.refused(wrong, "slot 4 is not node")
	wrong = move
	wrong.ToEpoch++
	m.refused(wrong, "has not the epoch")
	wrong = move
	wrong.FromEpoch++
	m.refused(wrong, "has not the epoch")
	aborted := m.must(AbortMove{nodeID(1), m.epoch(1), slots}).Version
	if got := m.View().Slot(3); got != (Slot{nodeID(1), aborted, version}) {
		t.Errorf("%+v", got)
	}
	m.refused(move, "slot 3 is not node") // it comes too late
	move.Slots = []SlotVersion{{3, aborted}, {4, aborted}}
	moved := m.must(move).Version
	if got := m.View().Slot(4); got != (Slot{nodeID(2), moved, aborted}) || m.View().Slot(5).Owner != nodeID(1) {
		t.Errorf("%+v", got)
	}
	m.refused(AbortMove{nodeID(1), m.epoch(1), slots}, "is not node")
}

// TestSlotsSurvive: a snapshot holds every slot.
func TestSlotsSurvive(t *testing.T) {
	m := newSlotsMachine(t, 3)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		first := uint16(rng.IntN(Slots))
		m.do(Assign{nodeID(rng.IntN(3) + 1), []Range{{first, min(first+uint16(rng.IntN(300)), Slots-1)}}})
	}
	back := restored(t, m.bytes(), m.index).View()
	for slot := range uint16(Slots) {
		if got, want := back.Slot(slot), m.View().Slot(slot); got != want {
			t.Fatalf("slot %d: %+v, want %+v", slot, got, want)
		}
	}
}
