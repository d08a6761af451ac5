package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/rlserver/rlserver/resp"
)

// lookEvery is how often certificates are looked at for a change.
const lookEvery = 2 * time.Second

// reloader takes over what operators change in files while the node runs:
// users on SIGHUP, certificates at each tick and on SIGHUP.
type reloader struct {
	access *access
	certs  *certificates // nil without TLS
	kill   func(match func(resp.ClientInfo) bool) int
	log    *slog.Logger

	badCerts string // the last mistake in the certificates that was logged
}

// run reloads until ctx ends.
func (r *reloader) run(ctx context.Context, hangup <-chan os.Signal, tick <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			r.users()
			r.certificates()
		case <-tick:
			r.certificates()
		}
	}
}

// users reads who may come in, and cuts the connections of those of whom
// something else is said now.
func (r *reloader) users() {
	changed, err := r.access.reload()
	if err != nil {
		r.log.Error("the new users cannot be used; the old ones stay", "err", err)
		return
	}
	cut := r.kill(func(client resp.ClientInfo) bool { return client.User != "" && changed(client.User) })
	r.log.Info("users reloaded", "users", len(r.access.users().Names()), "connections-cut", cut)
}

// certificates loads them if they changed. A mistake is logged once, until it
// is another one or mended: a pair is often replaced one file after the other.
func (r *reloader) certificates() {
	if r.certs == nil {
		return
	}
	changed, err := r.certs.reload()
	switch {
	case err != nil && err.Error() != r.badCerts:
		r.badCerts = err.Error()
		r.log.Error("the new certificates cannot be used; the old ones stay", "err", err)
	case err == nil && changed:
		r.log.Info("certificates reloaded", "not-after", r.certs.expires().UTC().Format(time.RFC3339))
	}
	if err == nil {
		r.badCerts = ""
	}
}

// reload runs a reloader for a node.
func reload(ctx context.Context, cfg *config, access *access, n *node, hangup <-chan os.Signal, log *slog.Logger) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	r := &reloader{access: access, certs: cfg.certs, kill: n.Kill, log: log}
	r.run(ctx, hangup, tick.C)
}
