package raftfsm

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/hashicorp/go-hclog"
)

// raftLogger passes Raft's warnings and errors on.
func raftLogger(log *slog.Logger) hclog.Logger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "raft", Level: hclog.Warn, Output: io.Discard})
	l.RegisterSink(sink{log})
	return l
}

type sink struct{ log *slog.Logger }

// Accept implements hclog.SinkAdapter.
func (s sink) Accept(_ string, level hclog.Level, msg string, args ...any) {
	to := slog.LevelWarn
	switch {
	case level < hclog.Warn:
		return
	case usual(msg, args):
		to = slog.LevelDebug
	case level >= hclog.Error:
		to = slog.LevelError
	}
	s.log.Log(context.Background(), to, "raft: "+msg, args...)
}

// usual says whether Raft warns of what happens whenever a node starts, joins
// or goes.
func usual(msg string, args []any) bool {
	switch msg {
	case "failed to decode incoming command", // a connection ended
		"no known peers, aborting election", // the node has not joined yet
		"failed to get previous log", "appendEntries rejected, sending older logs":
		return true
	case "heartbeat timeout reached, starting election":
		// Nobody is missed by a node that has not had a leader yet.
		i := slices.Index(args, any("last-leader-id"))
		return i >= 0 && i+1 < len(args) && fmt.Sprint(args[i+1]) == ""
	}
	return false
}
