package main

import (
	"errors"
	"strconv"
	"strings"
)

// bytesValue is a flag of bytes, written as Redis does: 100, 64kb, 1mb, 2gb.
type bytesValue int64

func (b *bytesValue) String() string {
	for _, u := range byteUnits() {
		if n := int64(*b); n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*b), 10)
}

func (b *bytesValue) Set(text string) error {
	digits, unit := strings.ToLower(text), int64(1)
	for _, u := range byteUnits() {
		if rest, found := strings.CutSuffix(digits, u.name); found {
			digits, unit = rest, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/unit {
		return errors.New("want a number of bytes such as 1048576, 64kb, 1mb or 2gb")
	}
	*b = bytesValue(n * unit)
	return nil
}

type byteUnit struct {
	name  string
	bytes int64
}

func byteUnits() []byteUnit {
	return []byteUnit{{"gb", 1 << 30}, {"mb", 1 << 20}, {"kb", 1 << 10}}
}
