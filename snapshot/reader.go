package snapshot

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/state"
)

// Clock says what the reader's clock showed when the writer's showed written:
// what is read is relative to that. Both are Unix nanoseconds.
type Clock func(written int64) int64

// At is the clock for what was sent to be read now: the time on the way counts
// for nothing.
func At(now int64) Clock { return func(int64) int64 { return now } }

// Since is the clock for what was saved: the time since then has passed, and
// one that went back has not.
func Since(now int64) Clock { return func(written int64) int64 { return min(written, now) } }

// Reader reads what a Writer wrote, or anything else without harm: it takes at
// most a section's room, and for a log as much as its bytes need.
type Reader struct {
	r      *bufio.Reader
	clock  Clock
	header Header
	counts Counts
	clean  bool
	ended  bool
	offset int64 // of the next section
	err    error // after which there is no going on

	payload []byte
	slot    Slot
	specs   []limit.Spec
	part    part
}

// part is a log whose rest is still to come.
type part struct {
	record  state.Record // without its Log, if there is none
	slot    uint16
	entries int
	units   int64
}

// NewReader reads the header. Errors are ErrNotSnapshot, ErrVersion and
// *SectionError; of the latter none can be gone on after.
func NewReader(r io.Reader, clock Clock) (*Reader, error) {
	rd := &Reader{r: bufio.NewReaderSize(r, fullSection), clock: clock}
	var begin [len(magic) + 1]byte
	n, err := io.ReadFull(rd.r, begin[:])
	switch {
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("snapshot: read: %w", err)
	case string(begin[:min(n, len(magic))]) != magic[:min(n, len(magic))], n == len(begin) && begin[len(magic)] == 0:
		return nil, ErrNotSnapshot
	case err != nil:
		return nil, &SectionError{Err: io.ErrUnexpectedEOF}
	case begin[len(magic)] > Version:
		return nil, fmt.Errorf("%w: %d, known are 1 to %d", ErrVersion, begin[len(magic)], Version)
	}
	rd.offset = int64(len(begin))
	kind, err := rd.section()
	if err == nil && kind != kindHeader {
		err = ErrCorrupt
	}
	if err == nil {
		err = rd.readHeader()
	}
	if err != nil {
		return nil, &SectionError{Kind: kind, Offset: int64(len(begin)), Err: torn(err)}
	}
	rd.counts.Sections++
	return rd, nil
}

// Header is what the first section says.
func (r *Reader) Header() Header { return r.header }

// Clean reports whether the mark of a clean stop was read.
func (r *Reader) Clean() bool { return r.clean }

// Ended reports whether the last section was read: nothing is missing behind it.
func (r *Reader) Ended() bool { return r.ended }

// Counts is what was read until now.
func (r *Reader) Counts() Counts { return r.counts }

// Offset is where the last section that was read ends, in bytes.
func (r *Reader) Offset() int64 { return r.offset }

// Next reads up to the next slot's section, which is valid until the next
// call. The error is io.EOF behind the last section or where the file ends
// between two, see Ended; else a *SectionError. After ErrCorrupt the next call
// goes on behind that section; every other error comes again.
func (r *Reader) Next() (*Slot, error) {
	for r.err == nil && !r.ended {
		begin := r.offset
		kind, err := r.section()
		if err == nil {
			err = r.take(kind)
		}
		switch {
		case errors.Is(err, io.EOF):
			r.err = io.EOF
		case errors.Is(err, ErrCorrupt):
			r.counts.Corrupt++
			r.drop()
			return nil, &SectionError{Kind: kind, Offset: begin, Err: err}
		case err != nil:
			r.err = &SectionError{Kind: kind, Offset: begin, Err: err}
		case kind == kindSlot:
			return &r.slot, nil
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	return nil, io.EOF
}

// take understands a section that is as it was written.
func (r *Reader) take(kind byte) error {
	r.counts.Sections++
	d := decoder{rest: r.payload}
	switch kind {
	case kindSlot:
		return r.readSlot(&d)
	case kindClean:
		r.clean = true
	case kindEnd:
		sections, records := d.number(), d.number()
		wrong := sections != uint64(r.counts.Sections-1) || records != uint64(r.counts.Records)
		if d.err != nil || wrong && r.counts.Corrupt == 0 {
			return fmt.Errorf("%w: sections or records are missing before the end", ErrCorrupt)
		}
		r.ended = true
	default:
		if kind < skippable {
			return ErrUnknownKind
		}
		r.counts.Skipped++
	}
	return nil
}

// section reads one section into r.payload and moves on behind it. io.EOF:
// there is none.
func (r *Reader) section() (kind byte, err error) {
	kind, err = r.r.ReadByte()
	if err != nil {
		return 0, err
	}
	length, size, err := r.length()
	if err != nil {
		return kind, err
	}
	if length > maxSection {
		return kind, fmt.Errorf("a section of %d bytes: what follows cannot be found", length)
	}
	var sum [4]byte
	if err := r.fill(int(length)); err != nil {
		return kind, err
	}
	if _, err := io.ReadFull(r.r, sum[:]); err != nil {
		return kind, torn(err)
	}
	if kind == 0 && length == 0 && sum == [4]byte{} {
		// Zeros: room for what was never written.
		return 0, io.ErrUnexpectedEOF
	}
	r.offset += int64(1 + size + len(r.payload) + len(sum))
	if binary.LittleEndian.Uint32(sum[:]) != checksum(kind, r.payload) {
		return kind, ErrCorrupt
	}
	return kind, nil
}

// length reads how long the payload is, and on how many bytes that stands.
func (r *Reader) length() (length uint64, size int, err error) {
	for size < binary.MaxVarintLen64 {
		b, err := r.r.ReadByte()
		if err != nil {
			return 0, 0, torn(err)
		}
		length |= uint64(b&0x7f) << (7 * size)
		if size++; b < 0x80 {
			return length, size, nil
		}
	}
	return 0, 0, errors.New("a section without a length: what follows cannot be found")
}

// fill reads n bytes into r.payload. It makes room as they come: a length
// alone costs nothing.
func (r *Reader) fill(n int) error {
	r.payload = r.payload[:0]
	for len(r.payload) < n {
		have := len(r.payload)
		more := min(n-have, max(cap(r.payload)-have, fullSection))
		r.payload = append(r.payload, make([]byte, more)...)
		if _, err := io.ReadFull(r.r, r.payload[have:]); err != nil {
			return torn(err)
		}
	}
	return nil
}

// torn is the error of reading within a section.
func torn(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (r *Reader) readHeader() error {
	d := decoder{rest: r.payload}
	r.header.Written = d.below(maxInstant)
	r.header.Number = d.number()
	n := d.count()
	if n > maxNode {
		d.fail(errRange)
	}
	r.header.Node = string(d.bytes(n))
	return corrupt(d.err)
}

// corrupt is the error of a section whose sum is right and whose content is
// not: the same as if it had rotted.
func corrupt(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}
