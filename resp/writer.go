package resp

import (
	"strconv"

	"github.com/tidwall/redcon"
)

// Writer appends replies in the session's protocol, 2 or 3. The zero value
// writes RESP2. It never fails, and allocates only when its buffer grows.
type Writer struct {
	buf   []byte
	proto int
}

// Proto is the protocol replies are written in: 2 or 3.
func (w *Writer) Proto() int {
	if w.proto == 3 {
		return 3
	}
	return 2
}

// Len is the number of bytes written; Truncate cuts back to an earlier Len.
func (w *Writer) Len() int { return len(w.buf) }

// Truncate forgets everything behind the first n bytes.
func (w *Writer) Truncate(n int) { w.buf = w.buf[:n] }

// Int writes an integer.
func (w *Writer) Int(n int64) { w.buf = redcon.AppendInt(w.buf, n) }

// Bulk writes a binary-safe string.
func (w *Writer) Bulk(b []byte) { w.buf = redcon.AppendBulk(w.buf, b) }

// BulkString writes a binary-safe string.
func (w *Writer) BulkString(s string) { w.buf = redcon.AppendBulkString(w.buf, s) }

// Simple writes a status line; line breaks become spaces.
func (w *Writer) Simple(s string) { w.line('+', s) }

// Error writes an error line, which begins with its code; line breaks become
// spaces.
func (w *Writer) Error(s string) { w.line('-', s) }

func (w *Writer) line(kind byte, s string) {
	w.buf = append(w.buf, kind)
	for i := range len(s) {
		c := s[i]
		if c == '\r' || c == '\n' {
			c = ' '
		}
		w.buf = append(w.buf, c)
	}
	w.buf = append(w.buf, '\r', '\n')
}

// Null writes the absence of a value.
func (w *Writer) Null() {
	if w.proto == 3 {
		w.buf = append(w.buf, "_\r\n"...)
		return
	}
	w.buf = redcon.AppendNull(w.buf)
}

// NullArray writes the absence of an array.
func (w *Writer) NullArray() {
	if w.proto == 3 {
		w.buf = append(w.buf, "_\r\n"...)
		return
	}
	w.buf = append(w.buf, "*-1\r\n"...)
}

// Double writes a number that may be no integer, in RESP2 a bulk string.
func (w *Writer) Double(f float64) {
	const longest = 24 // -1.7976931348623157e+308
	text := strconv.AppendFloat(make([]byte, 0, longest), f, 'g', -1, 64)
	if w.proto != 3 {
		w.Bulk(text)
		return
	}
	w.buf = append(w.buf, ',')
	w.buf = append(w.buf, text...)
	w.buf = append(w.buf, '\r', '\n')
}

// Array opens an array of n replies.
func (w *Writer) Array(n int) { w.buf = redcon.AppendArray(w.buf, n) }

// Map opens a map of pairs keys and values, in RESP2 a flat array.
func (w *Writer) Map(pairs int) { w.aggregate('%', pairs, 2*pairs) }

// Set opens a set of n replies, in RESP2 an array.
func (w *Writer) Set(n int) { w.aggregate('~', n, n) }

// Push opens an out-of-band message of n replies, in RESP2 an array.
func (w *Writer) Push(n int) { w.aggregate('>', n, n) }

func (w *Writer) aggregate(kind byte, n, flat int) {
	if w.proto != 3 {
		w.Array(flat)
		return
	}
	w.buf = append(w.buf, kind)
	w.buf = strconv.AppendInt(w.buf, int64(n), 10)
	w.buf = append(w.buf, '\r', '\n')
}

// Verbatim writes text for people, in RESP2 a bulk string.
func (w *Writer) Verbatim(s string) {
	if w.proto != 3 {
		w.BulkString(s)
		return
	}
	w.buf = append(w.buf, '=')
	w.buf = strconv.AppendInt(w.buf, int64(len(s)+4), 10)
	w.buf = append(w.buf, "\r\ntxt:"...)
	w.buf = append(w.buf, s...)
	w.buf = append(w.buf, '\r', '\n')
}

// Raw appends bytes that are replies already.
func (w *Writer) Raw(b []byte) { w.buf = append(w.buf, b...) }

// From returns what was written behind the first n bytes, valid until the
// next write.
func (w *Writer) From(n int) []byte { return w.buf[n:] }
