package lease

import (
	"encoding/binary"
	"errors"
	"math"
)

// ErrMessage is returned for bytes that are no message: cut short, with bytes
// left over, out of bounds, or of a later version.
var ErrMessage = errors.New("lease: malformed message")

// wireVersion is the second byte of each message, after its kind.
const wireVersion = 1

// MaxList is the most suspects, withdrawals or reports in one message: as many
// nodes as a cluster can have.
const MaxList = 1024

// Encode appends m to b: kind, version, then its fields in order, integers as
// unsigned varints, ids and lists behind their lengths.
func Encode(b []byte, m Message) []byte {
	b = append(b, m.kind(), wireVersion)
	switch m := m.(type) {
	case Request:
		b = appendUints(b, m.Epoch, uint64(m.Sent), uint64(m.Lease), m.Voters)
	case Answer:
		b = appendUints(b, m.Epoch, uint64(m.Sent), uint64(m.Verdict))
	case Poll:
		b = appendSuspects(b, m.Suspects)
	case Testimony:
		b = appendUints(b, m.Epoch)
		b = appendSuspects(b, m.Withdrawn)
		b = appendUints(b, uint64(len(m.Reports)))
		for _, r := range m.Reports {
			b = appendID(b, r.Node)
			b = appendUints(b, r.Epoch, r.Voters)
		}
	}
	return b
}

// Decode reads one message, which is all of b, and keeps nothing of b. Each
// message has one encoding: what decodes encodes to the same bytes.
func Decode(b []byte) (Message, error) {
	if len(b) < 2 || b[1] != wireVersion {
		return nil, ErrMessage
	}
	r := reader{rest: b[2:]}
	var m Message
	switch b[0] {
	case Request{}.kind():
		m = Request{Epoch: r.uint(), Sent: r.nanos(), Lease: r.nanos(), Voters: r.uint()}
	case Answer{}.kind():
		m = Answer{Epoch: r.uint(), Sent: r.nanos(), Verdict: r.verdict()}
	case Poll{}.kind():
		m = Poll{Suspects: r.suspects()}
	case Testimony{}.kind():
		m = Testimony{Epoch: r.uint(), Withdrawn: r.suspects(), Reports: r.reports()}
	default:
		return nil, ErrMessage
	}
	if r.bad || len(r.rest) > 0 {
		return nil, ErrMessage
	}
	return m, nil
}

func appendUints(b []byte, vs ...uint64) []byte {
	for _, v := range vs {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

func appendID(b []byte, id NodeID) []byte {
	return append(binary.AppendUvarint(b, uint64(len(id))), id...)
}

func appendSuspects(b []byte, ss []Suspect) []byte {
	b = appendUints(b, uint64(len(ss)))
	for _, s := range ss {
		b = appendID(b, s.Node)
		b = appendUints(b, s.Epoch)
	}
	return b
}

// reader takes a message apart. Once bad it returns zeros.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if r.bad || n <= 0 || n > 1 && r.rest[n-1] == 0 { // the last: longer than needed
		r.bad = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) nanos() int64 {
	v := r.uint()
	if v > math.MaxInt64 {
		r.bad = true
		return 0
	}
	return int64(v)
}

func (r *reader) verdict() Verdict {
	v := r.uint()
	if v < uint64(Promised) || v > uint64(Refused) {
		r.bad = true
		return 0
	}
	return Verdict(v)
}

func (r *reader) id() NodeID {
	n := r.uint()
	if n < 1 || n > MaxID || n > uint64(len(r.rest)) {
		r.bad = true
		return ""
	}
	id := NodeID(r.rest[:n])
	r.rest = r.rest[n:]
	return id
}

// length reads that of a list, whose elements take size bytes at least, so that
// a short message cannot ask for a long list.
func (r *reader) length(size int) int {
	n := r.uint()
	if n > MaxList || n > uint64(len(r.rest)/size) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *reader) suspects() []Suspect {
	n := r.length(3)
	if n == 0 {
		return nil
	}
	list := make([]Suspect, n)
	for i := range list {
		list[i] = Suspect{Node: r.id(), Epoch: r.uint()}
	}
	return list
}

func (r *reader) reports() []Report {
	n := r.length(4)
	if n == 0 {
		return nil
	}
	list := make([]Report, n)
	for i := range list {
		list[i] = Report{Node: r.id(), Epoch: r.uint(), Voters: r.uint()}
	}
	return list
}
