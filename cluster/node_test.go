package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rlserver/rlserver/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAloneKeepsItsPolicies(t *testing.T) {
	m := newMember(t, "n1")
	m.open(nil)
	m.ready()
	if err := m.set("a", 5); err != nil {
		t.Fatal(err)
	}
	if err := change(m.Remove, "n1"); err == nil {
		t.Error("a node that is alone removed itself")
	}
	m.close()
	if err := m.set("a", 6); !errors.Is(err, policy.ErrNotWritten) {
		t.Errorf("a closed node: %v", err)
	}
	m.open(nil)
	m.ready()
	if m.limit("a") != 5 {
		t.Errorf("after a restart the limit is %d", m.limit("a"))
	}
}

func TestJoin(t *testing.T) {
	all := three(t)
	for i, m := range all {
		if err := m.set("a", i+1); err != nil {
			t.Fatal(err)
		}
		if m.limit("a") != i+1 {
			t.Errorf("%s answered, and does not know what it wrote", m.name)
		}
		for _, other := range all {
			eventually(t, "the policy everywhere", func() bool { return other.limit("a") == i+1 })
		}
	}
	for _, m := range all {
		eventually(t, "three that live", func() bool {
			alive := 0
			for _, other := range m.Members() {
				if other.Alive && other.Votes {
					alive++
				}
			}
			return alive == 3
		})
	}
	status := map[string]string{}
	for _, f := range all[1].Status() {
		status[f.Name] = f.Value
	}
	for name, want := range map[string]string{"state": "ok", "ready": "yes", "members_alive": "3", "voters": "3", "policies": "1", "node": "n2"} {
		if status[name] != want {
			t.Errorf("%s is %q, want %q", name, status[name], want)
		}
	}
	all[2].close()
	eventually(t, "one that is away", func() bool { return !all[0].Members()[2].Alive })
}

func TestPeersFoundTogether(t *testing.T) {
	var lns []string
	var all []*member
	for _, name := range []string{"n1", "n2", "n3"} {
		m := newMember(t, name)
		ln := listen(t)
		m.addr = ln.Addr().String()
		lns, all = append(lns, m.addr), append(all, m)
		if err := ln.Close(); err != nil {
			t.Fatal(err)
		}
	}
	peers := func(b *BusConfig) { b.Peers = lns }
	for i, m := range all {
		if i == 2 {
			// Two of three found nothing.
			eventually(t, "the first two to meet", func() bool { return all[0].trouble.last() != "" })
			if all[0].raft.InCluster() || all[1].raft.InCluster() {
				t.Fatal("two of three peers founded a cluster")
			}
		}
		m.startOn(listenOn(t, m.addr), peers)
	}
	for _, m := range all {
		m.ready()
	}
	if a, b := all[0].raft.Cluster(), all[2].raft.Cluster(); a != b {
		t.Errorf("clusters %s and %s", a, b)
	}
	// One that lost its directory finds the others' cluster, and takes part
	// once the operator has said that its old self is gone for good.
	all[2].close()
	fresh := newMember(t, "n3").startOn(listenOn(t, all[2].addr), peers)
	if err := fresh.ends(); !strings.Contains(err.Error(), "RL.NODE.REMOVE n3") {
		t.Errorf("%v", err)
	}
	leader, _ := leads(t, all[:2])
	if err := change(leader.Remove, "n3"); err != nil {
		t.Fatal(err)
	}
	fresh.startOn(listenOn(t, all[2].addr), peers).ready()
}

func TestPeersMustNameThisNode(t *testing.T) {
	other := newMember(t, "n1").start()
	m := newMember(t, "n2").start(func(b *BusConfig) { b.Peers = []string{other.addr} })
	if err := m.ends(); !strings.Contains(err.Error(), "does not name this node") {
		t.Errorf("%v", err)
	}
}

func TestAllComeBackWithOtherAddresses(t *testing.T) {
	all := three(t)
	if err := all[0].set("a", 7); err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		m.close()
	}
	all[0].start()
	for _, m := range all[1:] {
		m.start(join(all[0]))
	}
	for _, m := range all {
		m.ready()
		if m.limit("a") != 7 {
			t.Errorf("%s forgot a policy", m.name)
		}
	}
}

func TestWithoutMajority(t *testing.T) {
	all := three(t)
	if err := all[0].set("a", 1); err != nil {
		t.Fatal(err)
	}
	leader, others := leads(t, all)
	for _, m := range others {
		m.close()
	}
	began := time.Now()
	err := leader.set("a", 2)
	if !errors.Is(err, policy.ErrOutcomeUnknown) && !errors.Is(err, policy.ErrNotWritten) {
		t.Errorf("a write without a majority: %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	if leader.Ready() != nil || leader.limit("a") != 1 {
		t.Error("a lost majority makes a node unready, or changes what it knows")
	}
	others[0].start()
	eventually(t, "a majority again", func() bool { return leader.set("a", 3) == nil })
}

func TestRemoved(t *testing.T) {
	all := three(t)
	fourth := newMember(t, "n4").start(join(all[1]))
	fourth.ready()
	if votes := all[0].raft.View().Votes(fourth.ID()); votes {
		t.Error("the fourth votes")
	}
	if err := change(all[1].Remove, "n4"); err != nil {
		t.Fatal(err)
	}
	if err := fourth.ends(); !strings.Contains(err.Error(), "was removed") {
		t.Errorf("%v", err)
	}
	fourth.start(join(all[0]))
	if err := fourth.ends(); !strings.Contains(err.Error(), "RL.NODE.ADD n4") {
		t.Errorf("after a restart: %v", err)
	}
	if err := change(all[2].Add, "n4"); err != nil {
		t.Fatal(err)
	}
	fourth.start(join(all[0])).ready() // others may not have heard yet
	if err := change(all[0].Promote, "nobody"); err == nil || !strings.Contains(err.Error(), `no member is named "nobody"`) {
		t.Errorf("%v", err)
	}
}

func TestCopyOfADirectory(t *testing.T) {
	all := three(t)
	copied := newMember(t, "n3")
	if err := os.CopyFS(copied.dir, os.DirFS(all[2].dir)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "n3 to be heard of", func() bool { return all[0].Members()[2].Alive && all[1].Members()[2].Alive })
	copied.start(join(all[0], all[1]))
	eventually(t, "the refusal", func() bool { return strings.Contains(copied.trouble.last(), "this directory is a copy") })
	if copied.raft.Epoch() != 0 {
		t.Error("the copy registered")
	}
	if err := all[2].set("a", 1); err != nil {
		t.Errorf("the node whose directory was copied: %v", err)
	}
	copied.close()
}

func TestStrangers(t *testing.T) {
	all := three(t)
	t.Run("a name in use", func(t *testing.T) {
		m := newMember(t, "n2").start(join(all[0]))
		if err := m.ends(); !strings.Contains(err.Error(), "the name n2 belongs to node "+all[1].ID()) {
			t.Errorf("%v", err)
		}
	})
	t.Run("another cluster", func(t *testing.T) {
		m := newMember(t, "n9").start(found).ready()
		eventually(t, "its cluster on disk", func() bool {
			_, err := os.Stat(filepath.Join(m.dir, "cluster-id"))
			return err == nil
		})
		if err := m.set("mine", 4); err != nil {
			t.Fatal(err)
		}
		m.close()
		m.start(join(all[0])).ready() // it has a majority of its own
		if m.limit("mine") != 4 || len(m.Members()) != 1 {
			t.Error("it left its cluster")
		}
		m.close()
	})
	t.Run("another secret", func(t *testing.T) {
		m := newMember(t, "n8").start(join(all[0]), func(b *BusConfig) { b.Credentials = credentials(t, "another secret than theirs") })
		eventually(t, "the refusal", func() bool { return strings.Contains(m.trouble.last(), "secret") })
		if m.Ready() == nil {
			t.Error("it is ready")
		}
		m.close()
	})
	for _, m := range all {
		if len(m.Members()) != 3 || m.raft.Leader() == "" {
			t.Errorf("%s has %d members", m.name, len(m.Members()))
		}
	}
}
