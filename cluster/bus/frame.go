package bus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A frame on the wire: a length in four bytes, big endian, of what follows: an
// id in four bytes, a kind in one, the payload. Requests and answers go in
// opposite directions, so that their kinds have nothing to do with each other.
const (
	lengthBytes = 4
	headBytes   = 4 + 1 // id and kind
	kindOffset  = lengthBytes + 4
)

// The kinds of answers.
const (
	answerReply     = 1
	answerRefused   = 2 // nothing was done; the payload says why
	answerHold      = 3 // the answer takes longer: milliseconds in four bytes
	answerWithdrawn = 4 // a reply whose condition no longer held: the payload is void
)

// oneWay is the id of a request that nobody waits for.
const oneWay = 0

// ErrFrame ends a connection whose peer sends what is no frame, or one above
// MaxFrame.
var ErrFrame = errors.New("bus: malformed frame")

type frame struct {
	id      uint32
	kind    byte
	payload []byte
}

func appendFrame(b []byte, f frame) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(headBytes+len(f.payload)))
	b = binary.BigEndian.AppendUint32(b, f.id)
	return append(append(b, f.kind), f.payload...)
}

// readSize is the buffer of a frameReader, as much as TLS hands out at once;
// it grows for a larger frame, as its bytes arrive.
const readSize = 16 << 10

// frameReader reads frames of maxPayload bytes at most.
type frameReader struct {
	r          io.Reader
	maxPayload int
	buf        []byte
	start, end int // of what was read and not returned
}

func newFrameReader(r io.Reader, maxPayload int) *frameReader {
	return &frameReader{r: r, maxPayload: maxPayload, buf: make([]byte, readSize)}
}

// next returns a frame whose payload is good until the next call. It returns
// io.EOF between frames, io.ErrUnexpectedEOF within one.
func (f *frameReader) next() (frame, error) {
	for {
		whole, err := f.size()
		if err != nil {
			return frame{}, err
		}
		if whole > 0 && f.end-f.start >= whole {
			b := f.buf[f.start : f.start+whole]
			f.start += whole
			return frame{
				id:      binary.BigEndian.Uint32(b[lengthBytes:]),
				kind:    b[kindOffset],
				payload: b[lengthBytes+headBytes:],
			}, nil
		}
		if err := f.fill(); err != nil {
			return frame{}, err
		}
	}
}

// size is that of the next frame, its length included; 0: not known yet.
func (f *frameReader) size() (int, error) {
	if f.end-f.start < lengthBytes {
		return 0, nil
	}
	n := int64(binary.BigEndian.Uint32(f.buf[f.start:]))
	if n < headBytes || n > int64(headBytes+f.maxPayload) {
		return 0, fmt.Errorf("%w: %d bytes, allowed are %d to %d", ErrFrame, n, headBytes, headBytes+f.maxPayload)
	}
	return lengthBytes + int(n), nil
}

// fill reads something, behind what is there.
func (f *frameReader) fill() error {
	switch {
	case f.start == f.end:
		f.start, f.end = 0, 0
		if len(f.buf) > readSize { // a large frame is rare
			f.buf = make([]byte, readSize)
		}
	case f.end < len(f.buf):
	case f.start > 0:
		f.end = copy(f.buf, f.buf[f.start:f.end])
		f.start = 0
	default:
		f.buf = append(f.buf, make([]byte, len(f.buf))...)
	}
	n, err := f.r.Read(f.buf[f.end:])
	f.end += n
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	if errors.Is(err, io.EOF) && f.end > f.start {
		err = io.ErrUnexpectedEOF
	}
	return err
}
