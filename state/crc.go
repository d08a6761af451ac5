package state

import "bytes"

// Slots is the number of hash slots, the one of Redis Cluster.
const Slots = 16384

// Slot returns the hash slot of key as Redis Cluster computes it: CRC-16 of
// the key, or of its tag, which is what stands between the first '{' and the
// next '}' if that is not empty.
func Slot(key []byte) uint16 {
	if open := bytes.IndexByte(key, '{'); open >= 0 {
		if n := bytes.IndexByte(key[open+1:], '}'); n > 0 {
			key = key[open+1 : open+1+n]
		}
	}
	return crc16(key) % Slots
}

// crc16 is CRC-16/XMODEM: polynomial 0x1021, initial value 0, most
// significant bit first, no final xor.
func crc16(p []byte) uint16 {
	// Eight bytes a step ("slicing by 8", Kounavis and Berry 2005): one byte
	// a step is a chain of dependent loads, which for a short key would cost
	// more than the rest of the address computation.
	t := &crcTables
	var crc uint16
	for len(p) >= 8 {
		crc = t[7][p[0]^byte(crc>>8)] ^ t[6][p[1]^byte(crc)] ^
			t[5][p[2]] ^ t[4][p[3]] ^ t[3][p[4]] ^ t[2][p[5]] ^ t[1][p[6]] ^ t[0][p[7]]
		p = p[8:]
	}
	for _, b := range p {
		crc = crc<<8 ^ t[0][byte(crc>>8)^b]
	}
	return crc
}

// crcTables[k][b] is the checksum of byte b followed by k zero bytes.
var crcTables = makeCRCTables()

func makeCRCTables() (t [8][256]uint16) {
	for b := range t[0] {
		crc := uint16(b) << 8
		for range 8 {
			carry := crc>>15 == 1
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
		t[0][b] = crc
	}
	for k := 1; k < len(t); k++ {
		for b, crc := range t[k-1] {
			t[k][b] = crc<<8 ^ t[0][crc>>8]
		}
	}
	return t
}
