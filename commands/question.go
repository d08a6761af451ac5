package commands

import (
	"encoding/binary"
	"errors"

	"github.com/rlserver/rlserver/limit"
)

// Questions between nodes. The first byte says what is asked; numbers are
// uvarints, texts stand behind their lengths. Nodes trust each other, and read
// strictly all the same.
const (
	questionAsk      byte = 1 // decide, for one key of RL.ALLOW or for buckets of policies
	questionGiveBack byte = 2 // units of buckets that were charged in vain
	questionRun      byte = 3 // a command that acts on keys of one slot
)

// maxAsked is the most buckets in a question: as many as a request can meet.
const maxAsked = 16

var errQuestion = errors.New("the question cannot be read: upgrade this node, or the one that asks")

// question is one that was read, or is to be written.
type question struct {
	policies bool // asks are buckets of policies; else one key of RL.ALLOW
	asks     []PolicyAsk
	req      limit.Request
}

func (q *question) encode(kind byte) []byte {
	flags := byte(0)
	for i, is := range []bool{q.policies, q.req.AtMost, q.req.Peek} {
		if is {
			flags |= 1 << i
		}
	}
	b := append(make([]byte, 0, 128), kind, flags)
	b = binary.AppendUvarint(b, uint64(q.req.Cost))
	b = append(b, byte(len(q.asks)))
	for i := range q.asks {
		a := &q.asks[i]
		b = binary.AppendUvarint(b, uint64(a.Slot))
		b = appendWord(b, a.Key)
		strict := byte(0)
		if a.Strict {
			strict = 1
		}
		b = append(b, byte(a.Spec.Algorithm), strict)
		for _, n := range []int64{a.Spec.Limit, a.Spec.Window, a.Spec.Burst} {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	return b
}

func appendWord(b, word []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(word))), word...)
}

// asked reads what encode wrote, but for the kind. Keys are part of b.
func asked(b []byte) (q question, err error) {
	d := wordReader{rest: b}
	flags := d.byte()
	q.policies, q.req.AtMost, q.req.Peek = flags&1 != 0, flags&2 != 0, flags&4 != 0
	q.req.Cost = d.number(limit.MaxUnits)
	n := d.byte()
	if flags > 7 || n == 0 || n > maxAsked || !q.policies && n != 1 {
		return q, errQuestion
	}
	q.asks = make([]PolicyAsk, n)
	for i := range q.asks {
		a := &q.asks[i]
		a.Slot = uint16(d.number(maxSlot))
		a.Key = d.word()
		algorithm, strict := d.byte(), d.byte()
		a.Strict = strict == 1
		a.Spec = limit.Spec{
			Algorithm: limit.Algorithm(algorithm),
			Limit:     d.number(limit.MaxUnits), Window: d.number(limit.MaxWindow), Burst: d.number(limit.MaxUnits),
		}
		if algorithm >= limit.AlgorithmCount || strict > 1 || a.Spec.Limit < 1 || a.Spec.Window < limit.MinWindow || a.Spec.Burst < 1 || len(a.Key) == 0 {
			return q, errQuestion
		}
	}
	if d.bad || len(d.rest) > 0 {
		return q, errQuestion
	}
	return q, nil
}

// appendDecisions is the answer to questionAsk.
func appendDecisions(b []byte, all []limit.Decision) []byte {
	for i := range all {
		d := &all[i]
		for _, n := range []int64{d.Allowed, d.Limit, d.Remaining, d.WaitMS, d.ResetMS} {
			b = binary.AppendVarint(b, n)
		}
	}
	return b
}

// readDecisions reads as many as out has room for.
func readDecisions(b []byte, out []limit.Decision) error {
	for i := range out {
		d := &out[i]
		for _, n := range []*int64{&d.Allowed, &d.Limit, &d.Remaining, &d.WaitMS, &d.ResetMS} {
			v, size := binary.Varint(b)
			if size <= 0 {
				return errQuestion
			}
			*n, b = v, b[size:]
		}
	}
	if len(b) > 0 {
		return errQuestion
	}
	return nil
}

// wordReader reads a question. The first mistake sticks.
type wordReader struct {
	rest []byte
	bad  bool
}

func (d *wordReader) byte() byte {
	if len(d.rest) == 0 {
		d.bad = true
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *wordReader) number(most int64) int64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 || n > uint64(most) {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[size:]
	return int64(n)
}

func (d *wordReader) word() []byte {
	n := d.number(int64(len(d.rest)))
	if d.bad || n > int64(len(d.rest)) {
		d.bad = true
		return nil
	}
	w := d.rest[:n:n]
	d.rest = d.rest[n:]
	return w
}
