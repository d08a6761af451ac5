package bus

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestFrames(t *testing.T) {
	const most = 100_000
	frames := []frame{
		{id: 1, kind: 7},
		{id: 1<<32 - 1, kind: 255, payload: []byte("payload")},
		{id: 3, kind: 1, payload: bytes.Repeat([]byte("x"), most)},
		{id: 4, kind: 1, payload: []byte("behind a large one")},
		{id: 5, kind: 1, payload: bytes.Repeat([]byte("y"), readSize-lengthBytes-headBytes)},
		{id: 6, kind: 1, payload: bytes.Repeat([]byte("z"), readSize)},
		{id: 0, kind: 0},
	}
	var wire []byte
	for _, f := range frames {
		wire = appendFrame(wire, f)
	}
	for name, r := range map[string]io.Reader{
		"at once":      bytes.NewReader(wire),
		"byte by byte": iotest.OneByteReader(bytes.NewReader(wire)),
		"in halves":    iotest.HalfReader(bytes.NewReader(wire)),
		"with its end": iotest.DataErrReader(bytes.NewReader(wire)),
	} {
		t.Run(name, func(t *testing.T) {
			in := newFrameReader(r, most)
			for i, want := range frames {
				got, err := in.next()
				if err != nil || got.id != want.id || got.kind != want.kind || !bytes.Equal(got.payload, want.payload) {
					t.Fatalf("frame %d: id %d, kind %d, %d bytes, %v", i, got.id, got.kind, len(got.payload), err)
				}
			}
			if _, err := in.next(); !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("at the end: %v", err)
			}
			if len(in.buf) > readSize {
				t.Errorf("%d bytes are kept", len(in.buf))
			}
		})
	}
}

// The bytes stay as they are.
func TestFrameGolden(t *testing.T) {
	got := string(appendFrame(nil, frame{id: 0x01020304, kind: 9, payload: []byte("ab")}))
	if want := "\x00\x00\x00\x07\x01\x02\x03\x04\x09ab"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFramesMalformed(t *testing.T) {
	for name, test := range map[string]struct {
		wire string
		want error
	}{
		"too short":          {"\x00\x00\x00\x04\x00\x00\x00\x00", ErrFrame},
		"too long":           {"\x00\x00\x00\x10" + strings.Repeat("x", 0x10), ErrFrame},
		"far too long":       {"\xff\xff\xff\xff", ErrFrame},
		"cut in the length":  {"\x00\x00", io.ErrUnexpectedEOF},
		"cut in the head":    {"\x00\x00\x00\x05\x00", io.ErrUnexpectedEOF},
		"cut in the payload": {"\x00\x00\x00\x07\x00\x00\x00\x00\x01x", io.ErrUnexpectedEOF},
	} {
		if f, err := newFrameReader(strings.NewReader(test.wire), 10).next(); !errors.Is(err, test.want) {
			t.Errorf("%s: got %+v, %v, want %v", name, f, err, test.want)
		}
	}
}

// A frame takes the memory of what has arrived of it, not of what it promises.
func TestFrameMemory(t *testing.T) {
	in := newFrameReader(io.MultiReader(
		strings.NewReader("\x10\x00\x00\x00"),
		bytes.NewReader(make([]byte, 100_000)),
	), 1<<29)
	if _, err := in.next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
	if len(in.buf) > 1<<18 {
		t.Errorf("%d bytes were made for 100,000", len(in.buf))
	}
}

// What reads as frames is written as the same bytes.
func FuzzFrames(f *testing.F) {
	f.Add(appendFrame(appendFrame(nil, frame{id: 1, kind: 2, payload: []byte("abc")}), frame{}))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Add([]byte("\x00\x00\x00\x05\x00\x00\x00\x00\x01\x00\x00"))
	f.Fuzz(func(t *testing.T, wire []byte) {
		const most = 64
		whole := newFrameReader(bytes.NewReader(wire), most)
		dribbled := newFrameReader(iotest.OneByteReader(bytes.NewReader(wire)), most)
		var again []byte
		for {
			got, err := whole.next()
			other, otherErr := dribbled.next()
			if (err == nil) != (otherErr == nil) || err != nil && err.Error() != otherErr.Error() {
				t.Fatalf("%v at once, %v byte by byte", err, otherErr)
			}
			if err != nil {
				break
			}
			if got.id != other.id || got.kind != other.kind || !bytes.Equal(got.payload, other.payload) {
				t.Fatalf("%+v at once, %+v byte by byte", got, other)
			}
			again = appendFrame(again, got)
		}
		if !bytes.HasPrefix(wire, again) {
			t.Errorf("%q was written as %q", wire, again)
		}
	})
}
