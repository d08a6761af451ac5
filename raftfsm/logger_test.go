package raftfsm

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

// TestUsualWarnings: what Raft says at every start is not logged as a warning,
// a lost leader is.
func TestUsualWarnings(t *testing.T) {
	var out bytes.Buffer
	log := raftLogger(slog.New(slog.NewTextHandler(&out, nil)))
	const election = "heartbeat timeout reached, starting election"
	log.Warn(election, "last-leader-addr", raft.ServerAddress(""), "last-leader-id", raft.ServerID(""))
	log.Error("failed to decode incoming command", "error", "EOF")
	if out.Len() > 0 {
		t.Errorf("logged: %s", &out)
	}
	log.Warn(election, "last-leader-addr", raft.ServerAddress("h:1"), "last-leader-id", raft.ServerID("a"))
	log.Error("failed to write", "error", "the disk is full")
	if n := strings.Count(out.String(), "raft: "); n != 2 {
		t.Errorf("%d of 2 lines were logged: %s", n, &out)
	}
}
