package raftfsm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/rlserver/rlserver/policy"
)

func TestPolicies(t *testing.T) {
	m := newMachine(t)
	one, seven := uint64(1), uint64(7)
	a := rule(t, "a", `"limit": 1, "window": "1s"`)
	if r := m.do(PolicySet{a, &seven}); r.Refusal != RefusedVersion || r.Want != 7 || r.Have != 0 {
		t.Errorf("%+v", r)
	}
	if r := m.must(PolicySet{a, new(uint64)}); r.Version != 2 {
		t.Errorf("%+v", r)
	}
	// The same content keeps the version.
	if r := m.must(PolicySet{a, nil}); r.Version != 2 || r.Index != 3 {
		t.Errorf("%+v", r)
	}
	if r := m.do(PolicySet{rule(t, "a", `"limit": 2, "window": "1s"`), &one}); r.Refusal != RefusedVersion || r.Have != 2 {
		t.Errorf("%+v", r)
	}
	if r := m.must(PolicySet{rule(t, "a", `"limit": 2, "window": "1s"`), nil}); r.Version != 5 || m.View().Policies.Get("a").Limit != 2 {
		t.Errorf("%+v", r)
	}
	if r := m.do(PolicyDelete{"a", &one}); r.Refusal != RefusedVersion {
		t.Errorf("%+v", r)
	}
	if r := m.must(PolicyDelete{"a", nil}); !r.Existed || m.View().Policies.Len() != 0 {
		t.Errorf("%+v", r)
	}
	if r := m.must(PolicyDelete{"a", nil}); r.Existed {
		t.Errorf("%+v", r)
	}
}

// A set is taken whole or not at all.
func TestPolicyReplace(t *testing.T) {
	m := newMachine(t)
	m.must(PolicySet{rule(t, "old", `"limit": 1, "window": "1s"`), nil})
	m.must(PolicySet{rule(t, "same", `"limit": 1, "window": "1s"`), nil})
	rules := []*policy.Rule{rule(t, "new", `"limit": 1, "window": "1s"`), rule(t, "same", `"limit": 1, "window": "1s"`)}
	m.must(PolicyReplace{rules, true})
	names := func() (all []string) {
		for r := range m.View().Policies.From("") {
			all = append(all, fmt.Sprintf("%s@%d", r.Name, r.Version))
		}
		return all
	}
	if got := fmt.Sprint(names()); got != "[new@3 old@1 same@2]" {
		t.Error(got)
	}
	m.must(PolicyReplace{rules, false})
	if got := fmt.Sprint(names()); got != "[new@3 same@2]" {
		t.Error(got)
	}
	var many []*policy.Rule
	for i := range policy.MaxScopes + 1 {
		many = append(many, rule(t, fmt.Sprintf("p%02d", i), fmt.Sprintf(`"limit": 1, "window": "1s", "scope": "s%d"`, i)))
	}
	if r := m.do(PolicyReplace{many, false}); r.Refusal != RefusedReason || !strings.Contains(r.Reason, "policy p16: SCOPE must be one of the 16") {
		t.Errorf("%+v", r)
	}
	if got := fmt.Sprint(names()); got != "[new@3 same@2]" {
		t.Error(got)
	}
}

func TestMembers(t *testing.T) {
	m := newMachine(t)
	m.must(Found{nodeID(9)})
	if r := m.do(Found{nodeID(8)}); r.Refusal != RefusedReason || m.View().Cluster != nodeID(9) {
		t.Errorf("%+v", r)
	}
	member := func(n int, name string) Register {
		return Register{Member{ID: nodeID(n), Name: name, Addr: "a:1", BusAddr: "b:1", Nonce: 5, Count: 1, Level: Level, Lease: 1e9}}
	}
	m.StoreConfiguration(10, raft.Configuration{Servers: []raft.Server{
		{Suffrage: raft.Voter, ID: raft.ServerID(nodeID(2))}, {Suffrage: raft.Voter, ID: raft.ServerID(nodeID(1))}, {Suffrage: raft.Nonvoter, ID: raft.ServerID(nodeID(3))},
	}})
	m.index = 10
	if r := m.must(member(1, "n1")); r.Version != 11 {
		t.Errorf("%+v", r)
	}
	m.must(member(3, "n3"))
	if r := m.do(member(4, "n1")); r.Refusal != RefusedReason || !strings.HasPrefix(r.Reason, "the name n1 belongs to node "+nodeID(1)) {
		t.Errorf("%+v", r)
	}
	v := m.View()
	if n1, is := v.Member(nodeID(1)); !is || n1.Epoch != 11 || !v.Votes(nodeID(1)) || v.Votes(nodeID(3)) || v.VotersIndex != 10 || !slices.Equal(v.Voters, []string{nodeID(1), nodeID(2)}) {
		t.Errorf("%+v %+v", n1, v)
	}
	// A new process, elsewhere, and under another name.
	moved := member(1, "one")
	moved.Addr = "c:1"
	m.must(moved)
	if n1, _ := m.View().Named("one"); n1.Epoch != 14 || n1.Addr != "c:1" {
		t.Errorf("%+v", n1)
	}
	if _, still := m.View().Named("n1"); still {
		t.Error("the old name is still there")
	}
	if r := m.do(NodeRemove{nodeID(1)}); r.Refusal != RefusedReason || !strings.Contains(r.Reason, "votes") {
		t.Errorf("%+v", r)
	}
	m.must(NodeRemove{nodeID(3)})
	if r := m.do(NodeRemove{nodeID(3)}); r.Refusal != RefusedReason {
		t.Errorf("%+v", r)
	}
	if r := m.do(member(3, "n3")); r.Refusal != RefusedReason || !strings.Contains(r.Reason, "was removed from the cluster: RL.NODE.ADD n3 lets it come back") {
		t.Errorf("%+v", r)
	}
	if name, removed := m.View().Removed(nodeID(3)); !removed || name != "n3" {
		t.Error(name, removed)
	}
	if r := m.must(NodeAdd{"n3"}); !r.Existed {
		t.Errorf("%+v", r)
	}
	m.must(member(3, "n3"))
}

// A request that is sent again gives the same answer, and changes nothing.
func TestRequestsAreAppliedOnce(t *testing.T) {
	m := newMachine(t)
	set := func(n int) []byte {
		return Encode(requestID(1), PolicySet{rule(t, "a", fmt.Sprintf(`"limit": %d, "window": "1s"`, n)), nil})
	}
	first := m.entry(set(1))
	m.must(PolicyDelete{"a", nil})
	if again := m.entry(set(1)); again != first {
		t.Errorf("%+v, then %+v", first, again)
	}
	if m.View().Policies.Len() != 0 || m.View().Index != 3 {
		t.Error("it was applied again")
	}
	again := restored(t, m.bytes(), m.index)
	if got := again.entry(set(1)); got != first {
		t.Errorf("after a snapshot: %+v", got)
	}
}

func TestRequestsAreBounded(t *testing.T) {
	r := newRequests()
	for n := range uint64(maxRequests + 100) {
		r.remember(requestID(n), Result{Index: n})
	}
	_, first := r.find(requestID(99))
	result, next := r.find(requestID(100))
	all := r.all()
	if first || !next || result.Index != 100 || len(r.results) != maxRequests || all[0] != requestID(100) || all[maxRequests-1] != requestID(maxRequests+99) {
		t.Error(first, next, result, len(r.results))
	}
}

// The same log gives the same bytes on each machine, and a snapshot with the
// rest of the log the same as the whole.
func TestDeterminism(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		a, b, c := newMachine(t), newMachine(t), newMachine(t)
		for i := range 120 {
			if i == 60 {
				c = restored(t, b.bytes(), b.index)
			}
			if rng.IntN(15) == 0 {
				configuration := raft.Configuration{Servers: []raft.Server{{Suffrage: raft.Voter, ID: raft.ServerID(nodeID(rng.IntN(4)))}}}
				for _, m := range []*machine{a, b, c} {
					m.index++
					m.StoreConfiguration(m.index, configuration)
				}
				continue
			}
			entry := Encode(requestID(rng.Uint64N(200)), randomCommand(t, rng))
			got := []any{a.entry(entry), b.entry(entry), c.entry(entry)}
			if got[0] != got[1] || got[0] != got[2] {
				t.Fatalf("seed %d: %+v", seed, got)
			}
		}
		want := a.bytes()
		if !bytes.Equal(want, b.bytes()) || !bytes.Equal(want, c.bytes()) || !bytes.Equal(want, restored(t, want, a.index).bytes()) {
			t.Fatalf("seed %d: snapshots differ", seed)
		}
	}
}

// An entry that cannot be understood halts the machine before it changes
// anything, and nothing is applied after it.
func TestUnknownEntriesHalt(t *testing.T) {
	good := Encode(requestID(1), PolicySet{rule(t, "a", `"limit": 1, "window": "1s"`), nil})
	newer, version, long := slices.Clone(good), slices.Clone(good), append(slices.Clone(good), 0)
	newer[0], version[1] = 200, 9
	for want, entry := range map[string][]byte{
		"type 200, which this version does not know: upgrade this node": newer,
		"version 9 is unknown":                                  version,
		"1 bytes follow its end":                                long,
		"(type 3, version 1) cannot be read: it ends too early": good[:len(good)-1],
		"it ends too early":                                     {3},
	} {
		m := newMachine(t)
		m.must(PolicySet{rule(t, "b", `"limit": 1, "window": "1s"`), nil})
		before := m.bytes()
		if got := m.entry(entry); !halts(got) || m.halted == nil || !strings.Contains(m.halted.Error(), want) {
			t.Errorf("%v: %v", got, m.halted)
		}
		if got := m.entry(good); !halts(got) || m.View().Index != 1 {
			t.Errorf("after it: %v", got)
		}
		if _, err := m.Snapshot(); err == nil {
			t.Error("a halted machine makes a snapshot")
		}
		if again := restored(t, before, 1); again.View().Policies.Get("b") == nil {
			t.Error("the snapshot from before lacks b")
		}
	}
}

// halts says whether an answer of Apply is that of a machine that halted.
func halts(answer any) bool {
	err, is := answer.(error)
	return is && errors.Is(err, errHalted)
}

func TestDamagedSnapshots(t *testing.T) {
	m := newMachine(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		m.entry(Encode(requestID(rng.Uint64()), randomCommand(t, rng)))
	}
	whole := m.bytes()
	read := func(b []byte) error {
		_, err := readSnapshot(bytes.NewReader(b))
		return err
	}
	for n := range whole {
		if read(whole[:n]) == nil {
			t.Fatalf("the first %d bytes were taken", n)
		}
		flipped := slices.Clone(whole)
		flipped[n] ^= 1 << (n % 8)
		if read(flipped) == nil {
			t.Fatalf("a flipped bit in byte %d was taken", n)
		}
	}
	if err := read(append(slices.Clone(whole), 0)); err == nil {
		t.Error("a byte too many was taken")
	}
	// What is there stays if a snapshot cannot be read.
	before := m.View()
	if err := m.Restore(io.NopCloser(bytes.NewReader(whole[:20]))); err == nil || m.View() != before {
		t.Error(err)
	}
	broken := errors.New("the disk is full")
	s, _ := m.Snapshot()
	if err := s.Persist(&brokenSink{err: broken}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

type brokenSink struct {
	memorySink
	err error
}

func (s *brokenSink) Write([]byte) (int, error) { return 0, s.err }

func TestReached(t *testing.T) {
	m := newMachine(t)
	reached, forget := m.Reached(2)
	defer forget()
	other, forgetOther := m.Reached(2)
	forgetOther()
	m.must(NodeAdd{"x"})
	select {
	case <-reached:
		t.Fatal("too early")
	default:
	}
	m.must(NodeAdd{"x"})
	<-reached
	again, _ := m.Reached(1)
	<-again
	select {
	case <-other:
		t.Error("one that was forgotten was told")
	default:
	}
	if len(m.waiting) != 0 {
		t.Errorf("%d wait", len(m.waiting))
	}
}
