package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/state"
)

// three is three slots, and where each section of their file ends.
func three(t *testing.T) (file []byte, slots []*Slot, ends []int64) {
	t.Helper()
	for i := range 3 {
		s := oneOfEach()
		s.Slot = uint16(i)
		s.Records[5].Bucket.A = s.Written
		slots = append(slots, s)
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{Written: start, Node: "n"})
	ends = append(ends, w.Size())
	for _, s := range slots {
		err = errors.Join(err, w.Slot(s))
		ends = append(ends, w.Size())
	}
	err = errors.Join(err, w.Clean())
	ends = append(ends, w.Size())
	if err = errors.Join(err, w.End()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), slots, append(ends, w.Size())
}

func TestCutAtEveryByte(t *testing.T) {
	file, slots, ends := three(t)
	for n := range len(file) {
		whole, last := 0, int64(0) // sections, and where they end
		for _, end := range ends {
			if end <= int64(n) {
				whole, last = whole+1, end
			}
		}
		f := read(bytes.NewReader(file[:n]), exact)
		if want := min(max(whole-1, 0), len(slots)); len(f.slots) != want {
			t.Fatalf("cut at %d: %d slots, want %d", n, len(f.slots), want)
		}
		for i, s := range f.slots {
			same(t, s, slots[i])
		}
		if whole > 0 && f.reader.Offset() != last {
			t.Errorf("cut at %d: offset %d, want %d", n, f.reader.Offset(), last)
		}
		if last == int64(n) && n > 0 {
			if !errors.Is(f.err, io.EOF) || f.reader.Ended() {
				t.Errorf("cut at %d, between sections: %v", n, f.err)
			}
			continue
		}
		var wrong *SectionError
		if !errors.As(f.err, &wrong) || !errors.Is(f.err, io.ErrUnexpectedEOF) || whole > 0 && wrong.Offset != last || len(f.errs) > 0 {
			t.Errorf("cut at %d: %v, want io.ErrUnexpectedEOF at %d", n, f.err, last)
		}
	}
}

// TestEveryBitRots: whatever changes is noticed, and no wrong record is read.
func TestEveryBitRots(t *testing.T) {
	file, slots, ends := three(t)
	for i := range len(file) * 8 {
		rotten := bytes.Clone(file)
		rotten[i/8] ^= 1 << (i % 8)
		f := read(bytes.NewReader(rotten), exact)
		if f.err == nil || errors.Is(f.err, io.EOF) && len(f.errs) == 0 {
			t.Errorf("bit %d of byte %d is not missed", i%8, i/8)
		}
		for _, s := range f.slots {
			same(t, s, slots[s.Slot])
		}
		if inside := int64(i/8) - ends[1]; inside > 8 && int64(i/8) < ends[2] {
			// In the midst of the second slot: only that is lost.
			if len(f.slots) != 2 || len(f.errs) != 1 || f.errs[0].Offset != ends[1] || f.errs[0].Kind != kindSlot || !f.reader.Clean() || !f.reader.Ended() {
				t.Errorf("bit %d of byte %d: %d slots, %v, %v", i%8, i/8, len(f.slots), f.errs, f.err)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// section is a whole file of one section.
func section(kind byte, payload []byte) []byte {
	var file bytes.Buffer
	w, err := NewWriter(&file, Header{Written: start})
	if err != nil {
		panic(err) // nothing can be wrong with it
	}
	w.section(kind, payload)
	return file.Bytes()
}

func TestUnknownKinds(t *testing.T) {
	f := read(bytes.NewReader(section(skippable, []byte("to come"))), exact)
	if !errors.Is(f.err, io.EOF) || f.reader.Counts().Skipped != 1 {
		t.Errorf("%v, %+v", f.err, f.reader.Counts())
	}
	for _, kind := range []byte{0, kindHeader, kindEnd + 1, skippable - 1} {
		f := read(bytes.NewReader(section(kind, []byte("to come"))), exact)
		var wrong *SectionError
		if !errors.As(f.err, &wrong) || wrong.Kind != kind || !errors.Is(f.err, ErrUnknownKind) {
			t.Errorf("kind %d: %v", kind, f.err)
		}
		if _, err := f.reader.Next(); !errors.Is(err, ErrUnknownKind) {
			t.Errorf("kind %d: after the error: %v", kind, err)
		}
	}
}

func TestNotASnapshot(t *testing.T) {
	for text, want := range map[string]error{
		"":                                   io.ErrUnexpectedEOF,
		"RLS":                                io.ErrUnexpectedEOF,
		"RLSNAP":                             io.ErrUnexpectedEOF,
		"REDIS0011":                          ErrNotSnapshot,
		"R":                                  io.ErrUnexpectedEOF,
		"X":                                  ErrNotSnapshot,
		"RLSNAP\x00":                         ErrNotSnapshot,
		"RLSNAP\x02":                         ErrVersion,
		"RLSNAP\x01":                         io.ErrUnexpectedEOF,
		"RLSNAP\x01\x01":                     io.ErrUnexpectedEOF,
		"RLSNAP\x01\x02\x00\x6c\x3b\x2f\xdd": ErrCorrupt,
	} {
		if _, err := NewReader(bytes.NewReader([]byte(text)), exact); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}

// TestLengthsCostNothing: a length alone makes no room.
func TestLengthsCostNothing(t *testing.T) {
	head := section(kindClean, nil)
	for _, length := range []uint64{maxSection, maxSection + 1, 1 << 40, 1<<64 - 1} {
		file := binary.AppendUvarint(append(bytes.Clone(head), kindSlot), length)
		f := read(bytes.NewReader(append(file, 1, 2, 3)), exact)
		if f.err == nil || errors.Is(f.err, io.EOF) || cap(f.reader.payload) > 2*fullSection {
			t.Errorf("length %d: %v, %d bytes of room", length, f.err, cap(f.reader.payload))
		}
	}
	file := append(bytes.Clone(head), kindSlot, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01)
	if f := read(bytes.NewReader(file), exact); f.err == nil || errors.Is(f.err, io.EOF) {
		t.Errorf("an endless length: %v", f.err)
	}
}

// TestWhatNoWriterWrites: content that is out of range is as good as rotten.
func TestWhatNoWriterWrites(t *testing.T) {
	u := func(numbers ...uint64) (b []byte) {
		for _, n := range numbers {
			b = binary.AppendUvarint(b, n)
		}
		return b
	}
	log := uint64(limit.SlidingLog)
	for name, payload := range map[string][]byte{
		"nothing":            {},
		"slot":               u(state.Slots, 1, 1, 0, 0, 0),
		"time":               u(1, 1, 1, 1<<63, 0, 0),
		"loss":               u(1, 1, 1, 0, 1<<63, 0),
		"more rules":         u(1, 1, 1, 0, 0, 3, 0, 1, 1e9, 1),
		"algorithm":          u(1, 1, 1, 0, 0, 1, limit.AlgorithmCount, 1, 1e9, 1),
		"limit 0":            u(1, 1, 1, 0, 0, 1, 0, 0, 1e9, 1),
		"window":             u(1, 1, 1, 0, 0, 1, 0, 1, 1, 1),
		"burst 0":            u(1, 1, 1, 0, 0, 1, 0, 1, 1e9, 0),
		"burst of a window":  u(1, 1, 1, 0, 0, 1, uint64(limit.FixedWindow), 1, 1e9, 2),
		"flags":              u(1, 1, 1, 0, 0, 0, flagsEnd),
		"all but not gone":   u(1, 1, 1, 0, 0, 0, flagAll),
		"gone in parts":      u(1, 1, 1, 0, 0, 0, flagGone|flagMore, 0),
		"key":                u(1, 1, 1, 0, 0, 0, flagGone, 5, 1),
		"no such rule":       u(1, 1, 1, 0, 0, 1, 0, 1, 1e9, 1, 0, 0, 1, 0, 0),
		"a bucket in parts":  u(1, 1, 1, 0, 0, 1, 0, 1, 1e9, 1, flagMore, 0, 0, 0, 0),
		"fraction":           u(1, 1, 1, 0, 0, 1, 0, 1, 1e9, 1, 0, 0, 0, 5, 1),
		"count":              u(1, 1, 1, 0, 0, 1, uint64(limit.FixedWindow), 1, 1e9, 1, 0, 0, 0, 5, limit.MaxUnits+1),
		"a log's order":      u(1, 1, 1, 0, 0, 1, log, 9, 1e9, 9, 0, 0, 0, 2, 5, 1, 6, 1),
		"a log's age":        u(1, 1, 1, 0, 0, 1, log, 9, 1e9, 9, 0, 0, 0, 1, 1e9+1, 1),
		"a log's units":      u(1, 1, 1, 0, 0, 1, log, 9, 1e9, 9, 0, 0, 0, 1, 5, 0),
		"a log's sum":        u(1, 1, 1, 0, 0, 1, log, 9, 1e9, 9, 0, 0, 0, 2, 5, limit.MaxUnits, 1, 1),
		"a log's length":     u(1, 1, 1, 0, 0, 1, log, 9, 1e9, 9, 0, 0, 0, 1<<40, 5, 1),
		"ends in the midst":  u(1, 1, 1, 0, 0, 1, 0, 1, 1e9, 1, 0, 0, 0),
		"a number is broken": append(u(1, 1), 0xff),
	} {
		f := read(bytes.NewReader(section(kindSlot, payload)), exact)
		if len(f.errs) != 1 || len(f.slots) > 0 || !errors.Is(f.err, io.EOF) {
			t.Errorf("%s: %d slots, %v, %v", name, len(f.slots), f.errs, f.err)
		}
	}
}
