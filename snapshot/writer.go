package snapshot

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/state"
)

// The flags of a record.
const (
	flagPolicy = 1 << iota
	flagStrict
	flagGone
	flagAll
	flagMore // a log that goes on in the next record
	flagRest // a log that goes on here
	flagsEnd
)

// Writer writes sections, each with one call of Write. It keeps no more than
// one section in memory. After an error of Write it is of no use any more.
type Writer struct {
	w       io.Writer
	written int64 // Header.Written
	counts  Counts
	size    int64
	out     []byte // a section on its way
	err     error  // of Write; it sticks

	// The section of a slot that is being gathered.
	head    []byte
	records []byte
	specs   []byte
	numbers map[limit.Spec]uint64
	last    limit.Spec // of the record before, which most often has the same
	number  uint64     // last's
	count   int64
}

// NewWriter writes the beginning of a file or stream to w, and the header.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	if len(h.Node) > maxNode {
		return nil, fmt.Errorf("snapshot: a node's name may have %d bytes, got %d", maxNode, len(h.Node))
	}
	if h.Written < 0 {
		return nil, fmt.Errorf("snapshot: the time must not be negative, got %d", h.Written)
	}
	wr := &Writer{w: w, written: h.Written, numbers: map[limit.Spec]uint64{}}
	wr.write(append([]byte(magic), Version))
	payload := binary.AppendUvarint(nil, uint64(h.Written))
	payload = binary.AppendUvarint(payload, h.Number)
	payload = binary.AppendUvarint(payload, uint64(len(h.Node)))
	wr.section(kindHeader, payload, []byte(h.Node))
	return wr, wr.err
}

// Slot writes s, whose instants are of a clock that shows s.Written now. It
// writes a section also for a slot without records: what it says of the slot
// is news, too. Errors are those of Write, and of what no reader would accept;
// nothing is written then.
func (w *Writer) Slot(s *Slot) error {
	for i := range s.Records {
		if err := check(&s.Records[i]); err != nil {
			return err
		}
	}
	w.forget()
	for i := range s.Records {
		w.record(s, &s.Records[i])
		w.flush(s, fullSection)
	}
	if len(s.Records) == 0 || w.count > 0 {
		w.flush(s, 0)
	}
	return w.err
}

func check(r *state.Record) error {
	if len(r.Key) > maxKey {
		return fmt.Errorf("snapshot: a key may have %d bytes, got %d", maxKey, len(r.Key))
	}
	if r.Gone {
		return nil
	}
	return checkSpec(r.Spec)
}

// checkSpec accepts every rule that some server may have been told to allow.
func checkSpec(spec limit.Spec) error {
	bounds := limit.Bounds{MaxLog: limit.MaxUnits}
	_, err := bounds.Spec(spec.Algorithm, spec.Limit, spec.Window, spec.Burst)
	if err == nil && spec.Burst < 1 {
		err = errRange
	}
	if err != nil {
		return fmt.Errorf("snapshot: no rule: %w", err)
	}
	return nil
}

// record adds r to the section; a log may fill several.
func (w *Writer) record(s *Slot, r *state.Record) {
	flags := flagsOf(r)
	if r.Gone || r.Spec.Algorithm != limit.SlidingLog {
		w.begin(r, flags)
		if !r.Gone {
			w.records = appendBucket(w.records, r.Spec, r.Bucket, s.Written)
		}
		return
	}
	entries := counting(r.Spec, r.Bucket.Log, s.Written)
	for len(entries) > partEntries {
		w.begin(r, flags|flagMore)
		w.records = appendLog(w.records, entries[:partEntries])
		w.flush(s, 0)
		entries, flags = entries[partEntries:], flags|flagRest
	}
	w.begin(r, flags)
	w.records = appendLog(w.records, entries)
}

func flagsOf(r *state.Record) (flags byte) {
	if r.Policy {
		flags |= flagPolicy
	}
	if r.Strict {
		flags |= flagStrict
	}
	if r.Gone {
		flags |= flagGone
	}
	if r.Gone && r.All {
		flags |= flagAll
	}
	return flags
}

// begin adds what all records begin with.
func (w *Writer) begin(r *state.Record, flags byte) {
	w.count++
	w.records = append(w.records, flags)
	if flags&flagAll != 0 {
		return
	}
	w.records = binary.AppendUvarint(w.records, uint64(len(r.Key)))
	w.records = append(w.records, r.Key...)
	if flags&flagGone == 0 {
		w.records = binary.AppendUvarint(w.records, w.spec(r.Spec))
	}
}

// spec returns the number of a spec in the section, where it is written once.
func (w *Writer) spec(spec limit.Spec) uint64 {
	if spec == w.last {
		return w.number
	}
	n, ok := w.numbers[spec]
	if !ok {
		n = uint64(len(w.numbers))
		w.numbers[spec] = n
		w.specs = append(w.specs, byte(spec.Algorithm))
		w.specs = binary.AppendUvarint(w.specs, uint64(spec.Limit))
		w.specs = binary.AppendUvarint(w.specs, uint64(spec.Window))
		w.specs = binary.AppendUvarint(w.specs, uint64(spec.Burst))
	}
	w.last, w.number = spec, n
	return n
}

// flush writes the section if it holds so many bytes.
func (w *Writer) flush(s *Slot, size int) {
	if len(w.records)+len(w.specs) < size {
		return
	}
	head := binary.AppendUvarint(w.head[:0], uint64(s.Slot))
	head = binary.AppendUvarint(head, s.Version)
	head = binary.AppendUvarint(head, s.Sequence)
	head = binary.AppendVarint(head, s.Written-w.written)
	loss := uint64(0)
	if s.LossAt != 0 {
		loss = 1 + uint64(max(s.Written-s.LossAt, 0))
	}
	head = binary.AppendUvarint(head, loss)
	head = binary.AppendUvarint(head, uint64(len(w.numbers)))
	w.head = head
	w.section(kindSlot, head, w.specs, w.records)
	w.counts.Records += w.count
	w.forget()
}

// forget begins a new section of a slot.
func (w *Writer) forget() {
	w.records, w.specs, w.count = w.records[:0], w.specs[:0], 0
	clear(w.numbers)
	w.last = limit.Spec{}
}

// Clean writes the mark that nothing was lost until here: a server that was
// stopped in order wrote all it had.
func (w *Writer) Clean() error {
	w.section(kindClean)
	return w.err
}

// End writes the last section, by which a reader knows that it has got all.
func (w *Writer) End() error {
	payload := binary.AppendUvarint(nil, uint64(w.counts.Sections))
	w.section(kindEnd, binary.AppendUvarint(payload, uint64(w.counts.Records)))
	return w.err
}

// Counts is what was written.
func (w *Writer) Counts() Counts { return w.counts }

// Size is how many bytes were written.
func (w *Writer) Size() int64 { return w.size }

// section writes a section whose payload comes in parts.
func (w *Writer) section(kind byte, parts ...[]byte) {
	length := 0
	for _, p := range parts {
		length += len(p)
	}
	w.out = append(w.out[:0], kind)
	w.out = binary.AppendUvarint(w.out, uint64(length))
	begin := len(w.out)
	for _, p := range parts {
		w.out = append(w.out, p...)
	}
	w.out = binary.LittleEndian.AppendUint32(w.out, checksum(kind, w.out[begin:]))
	w.write(w.out)
	w.counts.Sections++
}

func (w *Writer) write(b []byte) {
	if w.err != nil {
		return
	}
	n, err := w.w.Write(b)
	w.size += int64(n)
	if err != nil {
		w.err = fmt.Errorf("snapshot: write: %w", err)
	}
}

// checksum is CRC-32C of a section's kind and payload.
func checksum(kind byte, payload []byte) uint32 {
	return crc32.Update(crc32.Update(0, castagnoli, []byte{kind}), castagnoli, payload)
}
