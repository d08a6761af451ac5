package main

import (
	"io"
	"log/slog"
)

// newLogger returns the process's only logger.
func newLogger(w io.Writer, cfg *config) *slog.Logger {
	opts := &slog.HandlerOptions{Level: cfg.logLevel}
	if cfg.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}
