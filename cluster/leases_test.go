package cluster

import (
	"testing"

	"github.com/rlserver/rlserver/raftfsm"
)

// owned counts the slots that the nodes may serve, each by its own word, and
// fails if two may serve one.
func owned(t *testing.T, all []*member) (n int) {
	t.Helper()
	for slot := range uint16(raftfsm.Slots) {
		by := ""
		for _, m := range all {
			if version, ok := m.Serve(slot); ok && m.MayAnswer() && m.Holds(slot, version) {
				if by != "" {
					t.Fatalf("slot %d is served by %s and %s", slot, by, m.name)
				}
				by = m.name
				n++
			}
		}
	}
	return n
}

// sharing makes a cluster of three that share the slots.
func sharing(t *testing.T) (all []*member) {
	t.Helper()
	var peers []string
	for _, name := range []string{"n1", "n2", "n3"} {
		m := newMember(t, name)
		m.shared = true
		ln := listen(t)
		m.addr = ln.Addr().String()
		if err := ln.Close(); err != nil {
			t.Fatal(err)
		}
		all, peers = append(all, m), append(peers, m.addr)
	}
	for _, m := range all {
		m.startOn(listenOn(t, m.addr), func(b *BusConfig) { b.Peers = peers })
	}
	for _, m := range all {
		m.ready()
	}
	return all
}

// TestSlotsAreOwned: three nodes share the slots; those of a node that dies
// go to the others, once its lease is over; when it comes back it owns none.
func TestSlotsAreOwned(t *testing.T) {
	all := sharing(t)
	eventually(t, "every slot to be served", func() bool { return owned(t, all) == raftfsm.Slots })
	for _, m := range all {
		if got := all[0].Owned(m.ID()); got < 5461 || got > 5462 {
			t.Errorf("%s owns %d slots", m.name, got)
		}
	}
	leader, others := leads(t, all)
	dead := others[1]
	dead.close()
	rest := []*member{leader, others[0]}
	eventually(t, "the others to serve every slot", func() bool { return owned(t, rest) == raftfsm.Slots })
	if m, _ := leader.raft.View().Member(dead.ID()); m.Epoch != 0 {
		t.Error("the dead node has an epoch")
	}
	dead.start().ready()
	eventually(t, "its lease", func() bool { return dead.MayAnswer() })
	if n := owned(t, append(rest, dead)); n != raftfsm.Slots || dead.Owned(dead.ID()) != 0 {
		t.Errorf("%d slots are served, the node that came back owns %d", n, dead.Owned(dead.ID()))
	}
	// The leader dies.
	leader.close()
	rest = []*member{others[0], dead}
	eventually(t, "the others to serve every slot", func() bool { return owned(t, rest) == raftfsm.Slots })
}

// TestShare: nodes get as many, those with fewer get more, neighbours stay
// together.
func TestShare(t *testing.T) {
	view := raftfsm.NewFSM(nil).View()
	all := freeSlots(view)
	got := share(view, all, []string{"a", "b", "c"})
	total := 0
	for _, c := range got {
		if len(c.Slots) != 1 {
			t.Errorf("%s gets %d ranges", c.Owner, len(c.Slots))
		}
		total += int(c.Slots[0].Last-c.Slots[0].First) + 1
	}
	if len(got) != 3 || total != raftfsm.Slots || got[0].Slots[0].Last != 5461 {
		t.Errorf("%+v", got)
	}
	if got := share(view, []uint16{1, 2, 5}, []string{"a"}); len(got) != 1 || len(got[0].Slots) != 2 {
		t.Errorf("%+v", got)
	}
}
