package admin

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// readable writes a key, any bytes, so that a person can read it and tell it
// from every other: what is printable as it is, all else as \n, \x00 or
// \u202e, and a backslash as \\. Escapes of direction and of no width are not
// printable, so a key cannot pretend to be another.
func readable(key string) string {
	var b strings.Builder
	for len(key) > 0 {
		r, size := utf8.DecodeRuneInString(key)
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x` + hexByte(key[0]))
		case r == '\\':
			b.WriteString(`\\`)
		case strconv.IsPrint(r):
			b.WriteRune(r)
		case r < ' ' && r != '\n' && r != '\r' && r != '\t', r == 0x7f:
			b.WriteString(`\x` + hexByte(key[0]))
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		key = key[size:]
	}
	return b.String()
}

func hexByte(c byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[c>>4], digits[c&0xf]})
}

// grouped writes an integer with a comma between thousands.
func grouped[N int64 | uint64](n N) string {
	digits := strconv.FormatUint(uint64(max(n, 0)), 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// rate writes a number per second with as many digits as mean something.
func rate(perSecond float64) string {
	if perSecond > 0 && perSecond < 99.95 {
		return strconv.FormatFloat(perSecond, 'f', 1, 64)
	}
	return grouped(uint64(perSecond + 0.5))
}

// percent writes a share, 0 to 1. What is not nothing is not shown as 0, what
// is not all not as 100.
func percent(share float64) string {
	switch {
	case share > 0 && share < 0.001:
		return "< 0.1"
	case share < 1 && share > 0.999:
		return "> 99.9"
	}
	return strings.TrimSuffix(strconv.FormatFloat(share*100, 'f', 1, 64), ".0")
}

// size writes bytes as people say them: 1.5 GB, in powers of 1,024 as
// --max-memory has them.
func size(bytes int64) string {
	units := []string{"bytes", "KB", "MB", "GB", "TB"}
	value := float64(max(bytes, 0))
	for value >= 1024 && len(units) > 1 {
		value, units = value/1024, units[1:]
	}
	decimals := 0
	if value < 99.95 && units[0] != "bytes" {
		decimals = 1
	}
	return strings.TrimSuffix(strconv.FormatFloat(value, 'f', decimals, 64), ".0") + " " + units[0]
}

// span writes a time in its two largest units: 3d 4h, 12m 5s, 8s.
func span(d time.Duration) string {
	units := []struct {
		name string
		unit time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}}
	d = max(d, 0)
	for i, u := range units {
		if d < u.unit {
			continue
		}
		text := strconv.FormatInt(int64(d/u.unit), 10) + u.name
		if i+1 < len(units) {
			text += " " + strconv.FormatInt(int64(d%u.unit/units[i+1].unit), 10) + units[i+1].name
		}
		return text
	}
	return "0s"
}
