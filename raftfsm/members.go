package raftfsm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Member is a node of the cluster as it registered last.
type Member struct {
	ID      string // 40 hex digits
	Name    string // the operator's
	Addr    string // host:port for Redis clients
	BusAddr string // host:port for other nodes; empty: it has no bus
	Nonce   uint64 // of the process that registered, random
	Count   uint64 // of its registrations: 1, 2, ...
	Level   uint64 // its feature level
	Lease   uint64 // the longest promise that it asks for, in nanoseconds
	Epoch   uint64 // the log index of the registration; 0: down

	Drains bool // an operator wants its slots to go to others, and none to come
	Leaves bool // so does the process, which is about to end
}

// Takes says whether slots may come to the member.
func (m *Member) Takes() bool { return m.Epoch != 0 && !m.Drains && !m.Leaves }

// isID says whether a text is a node's or a cluster's id.
func isID(id string) bool {
	return len(id) == 40 && strings.Trim(id, "0123456789abcdef") == ""
}

func readID(d *decoder) string {
	id := d.text()
	if d.err == nil && !isID(id) {
		d.fail(fmt.Errorf("%q is no id: 40 hex digits are wanted", id))
	}
	return id
}

func appendMember(b []byte, m *Member) []byte {
	b = appendText(appendText(b, m.ID), m.Name)
	b = appendText(appendText(b, m.Addr), m.BusAddr)
	return appendNumber(appendNumber(appendNumber(appendNumber(b, m.Nonce), m.Count), m.Level), m.Lease)
}

func readMember(d *decoder) Member {
	return Member{
		ID: readID(d), Name: d.text(), Addr: d.text(), BusAddr: d.text(),
		Nonce: d.number(), Count: d.number(), Level: d.number(), Lease: d.number(),
	}
}

// Found gives the cluster its id, once.
type Found struct {
	Cluster string // 40 hex digits, random
}

func (Found) kind() Type               { return TypeFound }
func (Found) version() byte            { return 1 }
func (c Found) append(b []byte) []byte { return appendText(b, c.Cluster) }
func readFound(d *decoder) Found       { return Found{readID(d)} }

func (c Found) apply(s *state, index uint64) Result {
	if s.cluster != "" {
		return refuse("the cluster has the id %s", s.cluster)
	}
	s.cluster = c.Cluster
	return Result{Version: index}
}

// Register says that a process of a member started, and where it is. The
// member's epoch becomes the entry's index.
type Register struct {
	Member // its Epoch is not used
}

func (Register) kind() Type               { return TypeRegister }
func (Register) version() byte            { return 1 }
func (c Register) append(b []byte) []byte { return appendMember(b, &c.Member) }
func readRegister(d *decoder) Register    { return Register{readMember(d)} }

func (c Register) apply(s *state, index uint64) Result {
	if name, removed := s.removed[c.ID]; removed {
		return refuse("node %s (%s) was removed from the cluster: RL.NODE.ADD %s lets it come back, or start it with an empty directory", name, c.ID, name)
	}
	if c.Level < s.level {
		return refuse("the cluster has entries of feature level %d, which this node (level %d) cannot read: upgrade it", s.level, c.Level)
	}
	for id, m := range s.members {
		if m.Name == c.Name && id != c.ID {
			return refuse("the name %s belongs to node %s: use another --node-name, or RL.NODE.REMOVE %s if that node is gone for good", c.Name, id, c.Name)
		}
	}
	m := c.Member
	m.Epoch, m.Drains, m.Leaves = index, s.members[c.ID].Drains, false
	s.changeMembers()[m.ID] = m
	return Result{Version: index}
}

// NodeAdd lets nodes of a name come back that were removed.
type NodeAdd struct {
	Name string
}

func (NodeAdd) kind() Type               { return TypeNodeAdd }
func (NodeAdd) version() byte            { return 1 }
func (c NodeAdd) append(b []byte) []byte { return appendText(b, c.Name) }
func readNodeAdd(d *decoder) NodeAdd     { return NodeAdd{d.text()} }

func (c NodeAdd) apply(s *state, index uint64) Result {
	s.removed = maps.Clone(s.removed)
	existed := false
	for id, name := range s.removed {
		if name == c.Name {
			delete(s.removed, id)
			existed = true
		}
	}
	return Result{Version: index, Existed: existed}
}

// NodeDrain sets what a member says of its slots.
type NodeDrain struct {
	ID             string
	Drains, Leaves bool
}

func (NodeDrain) kind() Type    { return TypeNodeDrain }
func (NodeDrain) version() byte { return 1 }
func (c NodeDrain) append(b []byte) []byte {
	return appendBool(appendBool(appendText(b, c.ID), c.Drains), c.Leaves)
}
func readNodeDrain(d *decoder) NodeDrain { return NodeDrain{readID(d), d.bool(), d.bool()} }

func (c NodeDrain) apply(s *state, index uint64) Result {
	m, is := s.members[c.ID]
	if !is {
		return refuse("node %s is no member", c.ID)
	}
	m.Drains, m.Leaves = c.Drains, c.Leaves
	s.changeMembers()[m.ID] = m
	return Result{Version: index}
}

// NodeRemove takes a node that does not vote out of the cluster: its id never
// registers again unless NodeAdd lets it.
type NodeRemove struct {
	ID string
}

func (NodeRemove) kind() Type               { return TypeNodeRemove }
func (NodeRemove) version() byte            { return 1 }
func (c NodeRemove) append(b []byte) []byte { return appendText(b, c.ID) }
func readNodeRemove(d *decoder) NodeRemove  { return NodeRemove{readID(d)} }

func (c NodeRemove) apply(s *state, index uint64) Result {
	if slices.Contains(s.voters, c.ID) {
		return refuse("node %s votes: only a node that does not can be removed", c.ID)
	}
	m, is := s.members[c.ID]
	if !is {
		return refuse("node %s is no member", c.ID)
	}
	if n := s.slots.owned(c.ID); n > 0 {
		return refuse("node %s (%s) owns %d slots: stop it, and ask again once others have taken them over", m.Name, c.ID, n)
	}
	delete(s.changeMembers(), c.ID)
	s.removed = maps.Clone(s.removed)
	s.removed[c.ID] = m.Name
	return Result{Version: index, Existed: true}
}
