package snapshot

import "encoding/binary"

// decoder reads numbers and texts of a payload. The first mistake sticks: what
// is read after it are zeros.
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
	if size <= 0 {
		d.fail(errShort)
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

// below reads a number from 0 to most.
func (d *decoder) below(most int64) int64 {
	n := d.number()
	if most < 0 || n > uint64(most) {
		d.fail(errRange)
		return 0
	}
	return int64(n)
}

// signed reads a number that may be negative.
func (d *decoder) signed() int64 {
	n, size := binary.Varint(d.rest)
	if size <= 0 {
		d.fail(errShort)
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

// bytes reads n bytes, which are not copied.
func (d *decoder) bytes(n int) []byte {
	if n > len(d.rest) {
		d.fail(errShort)
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) byte() byte {
	if b := d.bytes(1); b != nil {
		return b[0]
	}
	return 0
}
