package main

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// randInt stands for twelve digits of a key in a command, drawn uniformly by
// redis-benchmark for each request.
const randInt = "__rand_int__"

// uniform is one of the row's keys; each has 16 bytes.
const uniform = "key:" + randInt

// depths are the pipelines: requests that a connection sends before it waits.
var depths = [...]int{1, 16, 64}

// The rows that others are compared with, and the peer that the aim names.
const (
	incrName = "redis-server INCR"
	cellName = "redis-cell"
)

type software int

const (
	redisServer software = iota
	rlserver
	foreign // a peer, started by the caller
)

// row is a line of the tables: a command that is asked of a server process of
// its own, so that no row finds another's keys or pays for them.
type row struct {
	name    string
	by      software
	command []string
	setup   [][]string // commands that are sent once, before
	want    string     // the reply's first value once each key was used, if it matters
	memory  bool       // its bytes per key are worth telling: its keys stay
	aim     bool       // it is held against the aim
	peer    peer       // of a foreign row
}

// keyed says that the row's requests are for many keys.
func (r row) keyed() bool {
	return slices.ContainsFunc(r.command, func(arg string) bool { return strings.Contains(arg, randInt) })
}

// cell is one measurement of a round.
type cell struct {
	row   string
	depth int
}

func (c cell) String() string { return fmt.Sprintf("%s -P %d", c.row, c.depth) }

//go:embed gcra.lua
var gcra string

// rows is every line of the tables, in their order.
func rows(peers []peer) []row {
	load := [][]string{{"SCRIPT", "LOAD", gcra}}
	sum := sha1.Sum([]byte(gcra)) // is how Redis names a script
	call := []string{"EVALSHA", hex.EncodeToString(sum[:]), "1", uniform}
	all := []row{
		{name: "redis-server PING", by: redisServer, command: []string{"PING"}},
		{name: incrName, by: redisServer, command: []string{"INCR", uniform}, memory: true},
		{
			name: "redis-server Lua GCRA, 100 per minute", by: redisServer, setup: load,
			command: append(slices.Clone(call), "100", "60000"), want: "1",
		},
		{
			name: "redis-server Lua GCRA, 100 per day", by: redisServer, setup: load,
			command: append(slices.Clone(call), "100", "86400000"), want: "1", memory: true,
		},
		{name: "rlserver PING", by: rlserver, command: []string{"PING"}},
		{
			name: "rlserver RL.ALLOW, 100 per minute", by: rlserver,
			command: []string{"RL.ALLOW", uniform, "100", "60"}, want: "1", aim: true,
		},
		{
			name: "rlserver RL.ALLOW, 100 per day", by: rlserver,
			command: []string{"RL.ALLOW", uniform, "100", "86400"}, want: "1", memory: true, aim: true,
		},
		{
			name: "rlserver RL.ALLOW of one key, denied", by: rlserver,
			command: []string{"RL.ALLOW", "key:the-only-one", "100", "86400"}, want: "0", aim: true,
		},
	}
	for _, p := range peers {
		all = append(all, row{name: p.name, by: foreign, command: p.command, peer: p})
	}
	return all
}
