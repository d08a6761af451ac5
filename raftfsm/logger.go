package raftfsm

import (
	"context"
	"io"
	"log/slog"

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
	case level >= hclog.Error:
		to = slog.LevelError
	}
	s.log.Log(context.Background(), to, "raft: "+msg, args...)
}
