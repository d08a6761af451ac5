package resp

import (
	"bytes"
	"strconv"
)

// framer finds where a command ends. It remembers how far it has looked, so
// that a command that arrives byte by byte costs no more than one that
// arrives whole. It answers as Redis 7 does, to the byte.
type framer struct {
	pos      int // start of the header or payload that is looked at
	searched int // bytes up to here hold no end of the header
	args     int // arguments still to come
	payload  int // bytes of the payload at pos, -1: a header is next
	inside   bool
}

// frameKind says what was found.
type frameKind int

const (
	frameNone   frameKind = iota // incomplete
	frameEmpty                   // nothing to run: an empty line, *0, *-1
	frameInline                  // a line of words
	frameArray                   // an array of bulk strings
)

// protocolError is an error that ends the session.
type protocolError string

func (e protocolError) Error() string { return "ERR Protocol error: " + string(e) }

// next looks for a command at the start of buf, which must begin where it did
// at the last call if that answered frameNone. n is the length of the command.
// It mends the two bytes behind a payload, and the one behind a header's CR,
// which Redis does not look at, to what redcon's parser expects.
func (f *framer) next(buf []byte, lim *Limits, authenticated bool) (n int, kind frameKind, err error) {
	if len(buf) == 0 {
		return 0, frameNone, nil
	}
	if !f.inside && buf[0] != '*' {
		return f.inline(buf, lim)
	}
	if !f.inside {
		line, found, err := f.header(buf, lim, "too big mbulk count string")
		if !found || err != nil {
			return 0, frameNone, err
		}
		count, ok := parseLength(line[1:])
		switch {
		case !ok || count > int64(lim.MaxArgs):
			return 0, frameNone, protocolError("invalid multibulk length")
		case count > maxArgsUnauthenticated && !authenticated:
			return 0, frameNone, protocolError("unauthenticated multibulk length")
		case count <= 0:
			return f.done(f.pos), frameEmpty, nil
		}
		f.inside, f.args, f.payload = true, int(count), -1
	}
	for f.args > 0 {
		if f.payload < 0 {
			line, found, err := f.header(buf, lim, "too big bulk count string")
			if !found || err != nil {
				return 0, frameNone, err
			}
			if err := f.openPayload(line, lim, authenticated); err != nil {
				return 0, frameNone, err
			}
		}
		end := f.pos + f.payload
		if len(buf) < end+2 {
			return 0, frameNone, nil
		}
		buf[end], buf[end+1] = '\r', '\n'
		f.pos, f.searched, f.payload = end+2, end+2, -1
		f.args--
	}
	return f.done(f.pos), frameArray, nil
}

// done forgets the command that was found.
func (f *framer) done(n int) int {
	*f = framer{}
	return n
}

// header returns the line at pos without its end, and steps behind it.
func (f *framer) header(buf []byte, lim *Limits, tooBig protocolError) (line []byte, found bool, err error) {
	f.searched = max(f.searched, f.pos)
	i := bytes.IndexByte(buf[f.searched:], '\r')
	if i < 0 {
		f.searched = len(buf)
		if len(buf)-f.pos > lim.MaxInline {
			return nil, false, tooBig
		}
		return nil, false, nil
	}
	end := f.searched + i
	if end+2 > len(buf) {
		f.searched = end
		return nil, false, nil
	}
	buf[end+1] = '\n'
	line = buf[f.pos:end]
	f.pos, f.searched = end+2, end+2
	return line, true, nil
}

func (f *framer) openPayload(line []byte, lim *Limits, authenticated bool) error {
	if len(line) == 0 || line[0] != '$' {
		got := byte('\r')
		if len(line) > 0 {
			got = line[0]
		}
		return protocolError("expected '$', got '" + string(rune(got)) + "'")
	}
	n, ok := parseLength(line[1:])
	switch {
	case !ok || n < 0 || n > int64(lim.MaxBulk):
		return protocolError("invalid bulk length")
	case n > maxBulkUnauthenticated && !authenticated:
		return protocolError("unauthenticated bulk length")
	case f.pos+int(n) > lim.MaxQuery:
		return protocolError("command longer than " + strconv.Itoa(lim.MaxQuery) + " bytes")
	}
	f.payload = int(n)
	return nil
}

func (f *framer) inline(buf []byte, lim *Limits) (n int, kind frameKind, err error) {
	i := bytes.IndexByte(buf[f.searched:], '\n')
	if i < 0 {
		f.searched = len(buf)
		if len(buf) > lim.MaxInline {
			return 0, frameNone, protocolError("too big inline request")
		}
		return 0, frameNone, nil
	}
	end := f.searched + i + 1
	if len(bytes.TrimSpace(buf[:end])) == 0 {
		return f.done(end), frameEmpty, nil
	}
	return f.done(end), frameInline, nil
}

// parseLength reads a decimal as Redis' string2ll does: no plus, no leading
// zeros, no spaces. Lengths that do not fit 31 bits are refused.
func parseLength(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > 11 {
		return 0, false
	}
	digits := b
	if b[0] == '-' {
		digits = b[1:]
	}
	if len(digits) == 0 || digits[0] == '0' && len(b) > 1 {
		return 0, false
	}
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if n > 1<<31-1 {
		return 0, false
	}
	if len(digits) != len(b) {
		n = -n
	}
	return n, true
}
