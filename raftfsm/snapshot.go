package raftfsm

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/rlserver/rlserver/policy"
)

// A snapshot is a magic with a version, and sections: a kind, the length of the
// payload, the payload, and the CRC-32C of all three. The last section is the
// end. The same state gives the same bytes.

const (
	snapshotMagic   = "RLFSM"
	snapshotVersion = 1
)

// The kinds of sections.
const (
	sectionEnd      = 0
	sectionHead     = 1 // index, cluster, level, voters
	sectionMembers  = 2
	sectionRemoved  = 3
	sectionPolicies = 4 // some of them; as often as needed
	sectionRequests = 5 // some of them; as often as needed
	sectionSlots    = 6
)

const (
	perSection = 1000     // policies or requests in one
	maxSection = 64 << 20 // bytes
)

// snapshot is a state that is being written.
type snapshot struct{ state *state }

// Persist implements raft.FSMSnapshot.
func (s *snapshot) Persist(sink raft.SnapshotSink) error {
	w := bufio.NewWriter(sink)
	err := s.state.write(w)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

// Release implements raft.FSMSnapshot.
func (*snapshot) Release() {}

// write writes the whole state.
func (s *state) write(w io.Writer) error {
	if _, err := w.Write(append([]byte(snapshotMagic), snapshotVersion)); err != nil {
		return err
	}
	head := appendNumber(appendText(appendNumber(nil, s.index), s.cluster), s.level)
	head = appendNumber(appendNumber(head, s.votersIndex), uint64(len(s.voters)))
	for _, id := range s.voters {
		head = appendText(head, id)
	}
	members := appendNumber(nil, uint64(len(s.members)))
	for _, id := range slices.Sorted(maps.Keys(s.members)) {
		m := s.members[id]
		members = appendNumber(appendMember(members, &m), m.Epoch)
		members = appendBool(appendBool(members, m.Drains), m.Leaves)
	}
	removed := appendNumber(nil, uint64(len(s.removed)))
	for _, id := range slices.Sorted(maps.Keys(s.removed)) {
		removed = appendText(appendText(removed, id), s.removed[id])
	}
	for _, section := range []struct {
		kind    byte
		payload []byte
	}{{sectionHead, head}, {sectionMembers, members}, {sectionRemoved, removed}, {sectionSlots, appendSlotTable(nil, s.slots)}} {
		if err := writeSection(w, section.kind, section.payload); err != nil {
			return err
		}
	}
	var rules []*policy.Rule
	for r := range s.policies.From("") {
		rules = append(rules, r)
	}
	for some := range slices.Chunk(rules, perSection) {
		payload := appendNumber(nil, uint64(len(some)))
		for _, r := range some {
			payload = appendPolicy(appendNumber(payload, r.Version), &r.Policy)
		}
		if err := writeSection(w, sectionPolicies, payload); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(s.requests.all(), perSection) {
		payload := appendNumber(nil, uint64(len(some)))
		for _, id := range some {
			result := s.requests.results[id]
			payload = result.Append(append(payload, id[:]...))
		}
		if err := writeSection(w, sectionRequests, payload); err != nil {
			return err
		}
	}
	return writeSection(w, sectionEnd, nil)
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func writeSection(w io.Writer, kind byte, payload []byte) error {
	head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(payload)))
	sum := crc32.Update(crc32.Checksum(head, castagnoli()), castagnoli(), payload)
	for _, part := range [][]byte{head, payload, binary.BigEndian.AppendUint32(nil, sum)} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// readSnapshot reads what write wrote.
func readSnapshot(from io.Reader) (*state, error) {
	r := bufio.NewReader(from)
	magic := make([]byte, len(snapshotMagic)+1)
	if _, err := io.ReadFull(r, magic); err != nil || string(magic[:len(snapshotMagic)]) != snapshotMagic {
		return nil, errors.New("raftfsm: this is no snapshot of the cluster's state")
	}
	if v := magic[len(snapshotMagic)]; v != snapshotVersion {
		return nil, fmt.Errorf("raftfsm: the snapshot has version %d, this program reads %d: upgrade this node", v, snapshotVersion)
	}
	s := newState()
	for {
		kind, payload, err := readSection(r)
		if err != nil {
			return nil, fmt.Errorf("raftfsm: the snapshot is damaged: %w", err)
		}
		if kind == sectionEnd {
			break
		}
		d := &decoder{rest: payload}
		s.readSection(kind, d)
		if err := d.end(); err != nil {
			return nil, fmt.Errorf("raftfsm: section %d of the snapshot cannot be read: %w", kind, err)
		}
	}
	if s.level > Level {
		return nil, fmt.Errorf("raftfsm: the snapshot has entries of feature level %d, this program knows %d: upgrade this node", s.level, Level)
	}
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		return nil, errors.New("raftfsm: the snapshot is damaged: bytes follow its end")
	}
	return s, nil
}

func readSection(r io.Reader) (kind byte, payload []byte, err error) {
	head := make([]byte, 5)
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, nil, errShort
	}
	length := binary.BigEndian.Uint32(head[1:])
	if length > maxSection {
		return 0, nil, fmt.Errorf("a section of %d bytes", length)
	}
	// Read piece by piece: a length that is damaged must not cost its memory.
	body, err := io.ReadAll(io.LimitReader(r, int64(length)+4))
	if err != nil || len(body) != int(length)+4 {
		return 0, nil, errShort
	}
	payload = body[:length]
	sum := crc32.Update(crc32.Checksum(head, castagnoli()), castagnoli(), payload)
	if sum != binary.BigEndian.Uint32(body[length:]) {
		return 0, nil, errors.New("a checksum does not match")
	}
	return head[0], payload, nil
}

// readSection reads the payload of a section into s.
func (s *state) readSection(kind byte, d *decoder) {
	switch kind {
	case sectionHead:
		s.index, s.cluster, s.level, s.votersIndex = d.number(), d.text(), d.number(), d.number()
		s.voters = make([]string, 0, d.count())
		for range cap(s.voters) {
			s.voters = append(s.voters, d.text())
		}
	case sectionMembers:
		for range d.count() {
			m := readMember(d)
			m.Epoch, m.Drains, m.Leaves = d.number(), d.bool(), d.bool()
			s.members[m.ID] = m
		}
	case sectionRemoved:
		for range d.count() {
			id := readID(d)
			s.removed[id] = d.text()
		}
	case sectionSlots:
		s.slots = readSlotTable(d)
	case sectionPolicies:
		words := policy.Words()
		for range d.count() {
			version := d.number()
			r := readPolicy(d, words)
			if d.err != nil {
				return
			}
			s.policies = s.policies.Set(r.WithVersion(version))
		}
	case sectionRequests:
		for range d.count() {
			id := d.requestID()
			s.requests.remember(id, readResult(d))
		}
	default:
		d.fail(errors.New("its kind is unknown: upgrade this node"))
	}
}
