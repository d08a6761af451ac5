package state

import (
	"testing"

	"pgregory.net/rapid"
)

func TestSlot(t *testing.T) {
	for key, want := range map[string]uint16{
		"":                     0,
		"123456789":            0x31C3,
		"foo":                  12182,
		"bar":                  5061,
		"somekey":              11058,
		"foo{hash_tag}":        2515,
		"hash_tag":             2515,
		"{user1000}.following": crc16([]byte("user1000")) % Slots,
		"foo{}{bar}":           crc16([]byte("foo{}{bar}")) % Slots, // an empty tag is none
		"foo{{bar}}zap":        crc16([]byte("{bar")) % Slots,
		"foo{bar}{zap}":        5061,
		"}foo{bar}":            5061,
		"foo{bar":              crc16([]byte("foo{bar")) % Slots,
		"foo}bar{":             crc16([]byte("foo}bar{")) % Slots,
	} {
		if got := Slot([]byte(key)); got != want {
			t.Errorf("Slot(%q) = %d, want %d", key, got, want)
		}
	}
}

// TestCRC16 compares the tables with the definition, bit by bit.
func TestCRC16(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Byte(), 0, 70).Draw(t, "p")
		var want uint16
		for _, b := range p {
			for bit := 7; bit >= 0; bit-- {
				feed := want>>15 != uint16(b>>bit&1)
				if want <<= 1; feed {
					want ^= 0x1021
				}
			}
		}
		if got := crc16(p); got != want {
			t.Fatalf("crc16(%x) = %#x, want %#x", p, got, want)
		}
	})
}
