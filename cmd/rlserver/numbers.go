package main

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/rlserver/rlserver/snapshot"
)

// durationValue is a flag of time, written as Go does: 1500ms, 1s, 5m, 1h30m.
type durationValue time.Duration

func (d *durationValue) String() string {
	text := time.Duration(*d).String()
	for _, nothing := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, nothing) {
			text = text[:len(text)-len("0s")]
		}
	}
	return text
}

func (d *durationValue) Set(text string) error {
	span, err := time.ParseDuration(text)
	if err != nil {
		return errors.New("want a time such as 1500ms, 1s, 5m or 1h")
	}
	*d = durationValue(span)
	return nil
}

// countValue is a flag of a whole number.
type countValue int

func (c *countValue) String() string { return strconv.Itoa(int(*c)) }

func (c *countValue) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil {
		return errors.New("want a whole number")
	}
	*c = countValue(n)
	return nil
}

// syncValue is the flag of when changes reach the disk.
type syncValue snapshot.SyncPolicy

func (s *syncValue) String() string { return snapshot.SyncPolicy(*s).String() }

func (s *syncValue) Set(text string) error {
	p, err := snapshot.ParseSync(text)
	if err != nil {
		return errors.New("want 1s, always or off")
	}
	*s = syncValue(p)
	return nil
}

// redis is the same in the words of Redis' appendfsync.
func (s syncValue) redis() string {
	switch snapshot.SyncPolicy(s) {
	case snapshot.SyncAlways:
		return "always"
	case snapshot.SyncOff:
		return "no"
	case snapshot.SyncSecond:
	}
	return "everysec"
}
