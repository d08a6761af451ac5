package main

import (
	"errors"
	"log/slog"
	"strings"
)

// levelValue is the flag of the log's level. The logger reads it while it may
// change.
type levelValue struct{ level *slog.LevelVar }

func (l levelValue) String() string {
	if l.level == nil {
		return ""
	}
	return l.level.Level().String()
}

func (l levelValue) Set(text string) error {
	if err := l.level.UnmarshalText([]byte(text)); err != nil {
		return errors.New("want debug, info, warn or error")
	}
	return nil
}

// redisLevel is a name of Redis for one of our levels; when it is shown, the
// first that fits is.
type redisLevel struct{ redis, ours string }

func redisLevels() []redisLevel {
	return []redisLevel{{"debug", "DEBUG"}, {"verbose", "DEBUG"}, {"notice", "INFO"}, {"warning", "WARN"}, {"nothing", "ERROR"}}
}

// levelFromRedis turns a value of Redis' loglevel into one of log-level.
func levelFromRedis(text string) (string, error) {
	for _, l := range redisLevels() {
		if strings.EqualFold(text, l.redis) {
			return l.ours, nil
		}
	}
	return "", errors.New("argument(s) must be one of the following: debug, verbose, notice, warning, nothing")
}

// levelToRedis shows a value of log-level as one of loglevel.
func levelToRedis(text string) string {
	for _, l := range redisLevels() {
		if text == l.ours {
			return l.redis
		}
	}
	return text // INFO+2, which has no name
}
