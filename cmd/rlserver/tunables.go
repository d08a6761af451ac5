package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/rlserver/rlserver/resp/server"
)

// tunable is a setting that CONFIG SET can change while the server runs, under
// its flag's name, and under Redis' where Redis has it.
type tunable struct {
	flag  string
	apply func(*node) error // makes the new value count; nil: it is read when it is needed

	redis     string
	fromRedis func(text string) (string, error) // a value of Redis' as one of the flag's
	toRedis   func(text string) string
}

// tunables are all of them. What is not among them needs a restart.
func tunables() []tunable {
	same := func(text string) string { return text }
	return []tunable{
		{
			flag: "max-memory", apply: (*node).tuneMemory,
			redis: "maxmemory", fromRedis: func(text string) (string, error) { return text, nil }, toRedis: bytesToRedis,
		},
		{flag: "sweep-idle", apply: (*node).tuneSweep},
		{flag: "max-clients", apply: (*node).tuneSockets, redis: "maxclients", fromRedis: numberFromRedis(1, math.MaxUint32, ""), toRedis: same},
		{flag: "max-clients-per-addr", apply: (*node).tuneSockets},
		{flag: "idle-timeout", apply: (*node).tuneSockets, redis: "timeout", fromRedis: numberFromRedis(0, math.MaxInt32, "s"), toRedis: secondsToRedis},
		{flag: "command-timeout", apply: (*node).tuneSockets},
		{flag: "write-timeout", apply: (*node).tuneSockets},
		{flag: "drain-timeout"},
		{flag: "log-level", redis: "loglevel", fromRedis: levelFromRedis, toRedis: levelToRedis},
	}
}

func (n *node) tuneMemory() error {
	n.store.SetMaxMemory(int64(n.cfg.maxMemory))
	return nil
}

func (n *node) tuneSweep() error { return n.store.SetSweepIdle(n.cfg.sweepIdle) }

func (n *node) tuneSockets() error { return n.sockets.Tune(n.cfg.tuning()) }

func (n *node) drainTimeout() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cfg.drainTimeout
}

// tuning is what connections are bound by and can change.
func (c *config) tuning() server.Tuning {
	return server.Tuning{
		MaxClients:        c.maxClients,
		MaxClientsPerAddr: c.maxClientsPerAddr,
		IdleTimeout:       c.idleTimeout,
		CommandTimeout:    c.commandTimeout,
		WriteTimeout:      c.writeTimeout,
	}
}

// errImmutable is Redis' text.
var errImmutable = errors.New("can't set immutable config")

// Set implements commands.Server. A value that is refused changes nothing.
func (n *node) Set(name, value string) (known bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range tunables() {
		switch {
		case name == t.flag:
			return true, n.tune(&t, value)
		case name == t.redis && name != "":
			if value, err = t.fromRedis(value); err != nil {
				return true, err
			}
			return true, n.tune(&t, value)
		}
	}
	for _, s := range n.settings() {
		if s.Name == name {
			return true, errImmutable
		}
	}
	return false, nil
}

// tune is for who holds n.mu.
func (n *node) tune(t *tunable, value string) error {
	setting := n.cfg.set.Lookup(t.flag).Value
	before := setting.String()
	err := setting.Set(value)
	if err == nil {
		err = errors.Join(n.cfg.checkBounds()...)
	}
	if err == nil && t.apply != nil {
		err = t.apply(n)
	}
	if err != nil {
		return errors.Join(err, setting.Set(before))
	}
	return nil
}

// redisSettings shows those that Redis has under its names.
func (n *node) redisSettings(yield func(name, value string)) {
	for _, t := range tunables() {
		if t.redis != "" {
			yield(t.redis, t.toRedis(n.cfg.set.Lookup(t.flag).Value.String()))
		}
	}
}

// numberFromRedis reads a number as Redis does, in its words, and adds a unit.
func numberFromRedis(lo, hi int64, unit string) func(string) (string, error) {
	return func(text string) (string, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case errors.Is(err, strconv.ErrSyntax):
			return "", errors.New("argument couldn't be parsed into an integer")
		case err != nil || n < lo || n > hi:
			return "", fmt.Errorf("argument must be between %d and %d inclusive", lo, hi)
		}
		return strconv.FormatInt(n, 10) + unit, nil
	}
}

func bytesToRedis(text string) string {
	var size bytesValue
	if size.Set(text) != nil {
		return text
	}
	return strconv.FormatInt(int64(size), 10)
}

// secondsToRedis rounds up: 0 would be no timeout.
func secondsToRedis(text string) string {
	span, err := time.ParseDuration(text)
	if err != nil {
		return text
	}
	return strconv.FormatInt(int64((span+time.Second-1)/time.Second), 10)
}

// visit calls f for every setting that may be shown, in the order of names.
func (c *config) visit(f func(*flag.Flag)) {
	c.set.VisitAll(func(setting *flag.Flag) {
		if setting.Name != "version" && setting.Name != "config" {
			f(setting)
		}
	})
}
