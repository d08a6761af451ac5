package resp

import "bytes"

// framer finds where a command ends. It remembers how far it has looked, so
// that a command that arrives byte by byte costs no more than one that
// arrives whole. It takes and refuses what Redis 7 does, in the same words,
// except that a NUL is a byte like any other: Redis stops looking at it, and
// waits.
type framer struct {
	pos      int  // start of the header or payload that is looked at
	searched int  // bytes up to here hold no end of the line at pos
	args     int  // arguments still to come
	inside   bool // an array: its header has been read
	payload  int  // bytes of the argument at pos, if opened
	opened   bool // the argument's header has been read
}

// next looks for a command at the start of buf, which must begin with what it
// had at the last call if that found none. n is the command's length, 0 where
// it is incomplete; empty says that it is an array without arguments, which
// is not answered.
//
// It mends what Redis does not look at, the two bytes behind an argument and
// the one behind a header's CR, to what redcon's parser insists on.
func (f *framer) next(buf []byte, lim *Limits, authenticated bool) (n int, empty bool, err error) {
	if authenticated || len(buf) < maxQueryStranger {
		return f.find(buf, lim, authenticated)
	}
	// However much has arrived, a stranger's command ends in the first bytes of it.
	n, empty, err = f.find(buf[:maxQueryStranger], lim, authenticated)
	if n == 0 && err == nil {
		err = errCommandStranger
		if buf[0] != '*' {
			err = errInlineStranger
		}
	}
	return n, empty, err
}

func (f *framer) find(buf []byte, lim *Limits, authenticated bool) (n int, empty bool, err error) {
	if !f.inside {
		if len(buf) == 0 {
			return 0, false, nil
		}
		if buf[0] != '*' {
			n, err = f.inline(buf, lim.MaxInline)
			return n, false, err
		}
		if ok, err := f.openArray(buf, lim, authenticated); !ok {
			return 0, false, err
		}
		empty = f.args == 0
	}
	for ; f.args > 0; f.args-- {
		if !f.opened {
			if ok, err := f.openArgument(buf, lim, authenticated); !ok {
				return 0, false, err
			}
		}
		end := f.pos + f.payload
		if len(buf) < end+2 {
			return 0, false, nil
		}
		buf[end], buf[end+1] = '\r', '\n'
		f.pos, f.opened = end+2, false
	}
	return f.found(f.pos), empty, nil
}

// openArray reads the header of an array; not ok if it is incomplete or wrong.
func (f *framer) openArray(buf []byte, lim *Limits, authenticated bool) (ok bool, err error) {
	n, size := shortHeader(buf, '*')
	if size > 0 && n <= maxArgsStranger {
		f.pos, f.args, f.inside = size, n, true
		return true, nil
	}
	line, err := f.header(buf, lim.MaxInline, errMultibulkHeader)
	if line == nil || err != nil {
		return false, err
	}
	f.args, err = countArgs(line[1:], lim, authenticated)
	f.inside = true
	return err == nil, err
}

// openArgument reads the header of an argument; not ok if it is incomplete or
// wrong.
func (f *framer) openArgument(buf []byte, lim *Limits, authenticated bool) (ok bool, err error) {
	n, size := shortHeader(buf[f.pos:], '$')
	if size > 0 && f.pos+size+n <= lim.MaxQuery {
		f.pos, f.payload, f.opened = f.pos+size, n, true
		return true, nil
	}
	line, err := f.header(buf, lim.MaxInline, errBulkHeader)
	if line == nil || err != nil {
		return false, err
	}
	f.payload, err = countBytes(line, f.pos, lim, authenticated)
	f.opened = true
	return err == nil, err
}

// found forgets the command that was found.
func (f *framer) found(n int) int {
	*f = framer{}
	return n
}

// header returns the line at pos without its end, and steps behind it; nil if
// it is incomplete.
func (f *framer) header(buf []byte, most int, tooBig ProtocolError) ([]byte, error) {
	end, err := f.search(buf, '\r', most, tooBig)
	if err != nil || end < 0 {
		return nil, err
	}
	if end+2 > len(buf) {
		return nil, nil
	}
	buf[end+1] = '\n'
	line := buf[f.pos:end]
	f.pos = end + 2
	return line, nil
}

// inline returns the length of the line at the start of buf, 0 if it is
// incomplete.
func (f *framer) inline(buf []byte, most int) (int, error) {
	end, err := f.search(buf, '\n', most, errInlineTooBig)
	if err != nil || end < 0 {
		return 0, err
	}
	return f.found(end + 1), nil
}

// search returns where the line at pos ends, -1 if that has not arrived. A
// line is too big wherever it was cut on its way.
func (f *framer) search(buf []byte, delim byte, most int, tooBig ProtocolError) (int, error) {
	f.searched = max(f.searched, f.pos)
	end := -1
	if i := bytes.IndexByte(buf[f.searched:], delim); i >= 0 {
		end = f.searched + i
		f.searched = end
	} else {
		f.searched = len(buf)
	}
	if f.searched-f.pos > most {
		return -1, tooBig
	}
	return end, nil
}

// countArgs reads the number behind `*`.
func countArgs(digits []byte, lim *Limits, authenticated bool) (int, error) {
	n, ok := parseLength(digits)
	switch {
	case !ok || n > maxCount:
		return 0, errMultibulkLength
	case n > maxArgsStranger && !authenticated:
		return 0, errMultibulkStranger
	case n > int64(lim.MaxArgs):
		return 0, errMultibulkLength
	}
	return int(max(n, 0)), nil
}

// countBytes reads the header of an argument that begins at pos.
func countBytes(line []byte, pos int, lim *Limits, authenticated bool) (int, error) {
	if len(line) == 0 {
		return 0, errExpectedBulk('\r')
	}
	if line[0] != '$' {
		return 0, errExpectedBulk(line[0])
	}
	n, ok := parseLength(line[1:])
	switch {
	case !ok || n < 0 || n > int64(lim.MaxBulk):
		return 0, errBulkLength
	case n > maxQueryStranger && !authenticated:
		return 0, errBulkStranger
	case int64(pos)+n > maxQueryStranger && !authenticated:
		return 0, errCommandStranger
	case int64(pos)+n > int64(lim.MaxQuery):
		return 0, errCommandTooLong
	}
	return int(n), nil
}

// maxCount is the largest number of arguments Redis takes for a number.
const maxCount = 1<<31 - 1

// parseLength reads a decimal that fits 64 bits as Redis' string2ll does: no
// plus, no leading zeros, no spaces, no -0.
func parseLength(b []byte) (n int64, ok bool) {
	digits := b
	if len(b) > 1 && b[0] == '-' {
		digits = b[1:]
	}
	const most = 19 // digits of 1<<63
	if len(digits) == 0 || len(digits) > most || digits[0] == '0' && len(b) > 1 {
		return 0, false
	}
	var u uint64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		u = u*10 + uint64(c-'0')
	}
	if len(digits) < len(b) {
		return -int64(u), u <= 1<<63
	}
	return int64(u), u < 1<<63
}

// shortHeader reads a header of one or two digits, which nearly all are, and
// returns its size too. Size 0 is what is anything else: header looks at that.
func shortHeader(buf []byte, kind byte) (n, size int) {
	const one, two = len("$1\r\n"), len("$10\r\n")
	if len(buf) < two || buf[0] != kind || buf[1]-'0' > 9 {
		return 0, 0
	}
	n, size = int(buf[1]-'0'), one
	if n > 0 && buf[2]-'0' <= 9 {
		n, size = n*10+int(buf[2]-'0'), two
	}
	if buf[size-2] != '\r' {
		return 0, 0
	}
	buf[size-1] = '\n'
	return n, size
}
