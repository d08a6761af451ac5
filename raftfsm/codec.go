package raftfsm

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The form of entries and snapshots: numbers as uvarints, texts behind their
// lengths. It is read strictly: what is too short, too long or not in its
// shortest form is an error.

var errShort = errors.New("it ends too early")

func appendNumber(b []byte, n uint64) []byte { return binary.AppendUvarint(b, n) }

func appendText[T string | []byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// decoder reads what was appended. The first mistake sticks: what is read after
// it are zeros.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.rest = nil
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.rest)
	switch {
	case d.err != nil:
		return 0
	case size <= 0:
		d.fail(errShort)
		return 0
	case size > 1 && d.rest[size-1] == 0:
		d.fail(errors.New("a number is not in its shortest form"))
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

// count reads how many things follow, each of at least one byte.
func (d *decoder) count() int {
	n := d.number()
	if n > uint64(len(d.rest)) {
		d.fail(errShort)
		return 0
	}
	return int(n)
}

func (d *decoder) text() string { return string(d.bytes(d.count())) }

func (d *decoder) bytes(n int) []byte {
	if d.err != nil || n > len(d.rest) {
		d.fail(errShort)
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) requestID() (id RequestID) {
	copy(id[:], d.bytes(len(id)))
	return id
}

func (d *decoder) bool() bool {
	b := d.bytes(1)
	if d.err == nil && b[0] > 1 {
		d.fail(fmt.Errorf("a flag is %d", b[0]))
	}
	return d.err == nil && b[0] == 1
}

// end reports the first mistake; bytes that nobody read are one.
func (d *decoder) end() error {
	if d.err == nil && len(d.rest) > 0 {
		d.err = fmt.Errorf("%d bytes follow its end", len(d.rest))
	}
	return d.err
}
