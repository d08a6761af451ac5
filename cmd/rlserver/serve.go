package main

import (
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"math/rand/v2"
	"os"
	"time"

	"github.com/rlserver/rlserver/commands"
	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/resp/server"
	"github.com/rlserver/rlserver/state"
)

// serve runs one node until ctx ends or a client shuts it down, then drains it.
func serve(ctx context.Context, cfg *config, now func() int64, hangup <-chan os.Signal, log *slog.Logger) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	store, err := newStore(cfg)
	if err != nil {
		return err
	}
	node := newNode(cfg, store, now(), stop)
	access := newAccess(cfg)
	watch := newWatch(node, now)
	dispatcher, err := commands.New(commands.Config{
		Buckets:   buckets{store},
		Ownership: soleOwner{cfg.nodeName},
		Server:    node,
		Users:     access.users,
		Clock:     now,
		After:     func(nanos int64, do func()) { time.AfterFunc(time.Duration(nanos), do) },
		Bounds:    limit.Bounds{MaxLog: cfg.maxLog},
		MaxKey:    cfg.maxKey,
		Events:    watch.commandEvents(log),
	})
	if err != nil {
		return err
	}
	watch.dispatcher = dispatcher
	sockets := cfg.sockets(now)
	sockets.Handler = dispatcher
	sockets.Events = watch.events(socketEvents(log))
	if node.sockets, err = server.New(sockets); err != nil {
		return err
	}
	doors, err := openDoors(ctx, cfg)
	if err != nil {
		return err
	}
	node.addr = doors.addr()
	side, err := openSideDoor(ctx, cfg, watch, access.users, log)
	if err != nil {
		return errors.Join(err, doors.close())
	}
	watch.serving.Store(true)
	log.Info("ready", "addr", doors.plainAddr(), "tls-addr", doors.tlsAddr(), "admin-addr", side.String(),
		"mode", "standalone", "access", cfg.describeAccess(), "node", cfg.nodeName,
		"max-memory", cfg.maxMemory.String(), "version", version)
	for _, name := range cfg.typedSecrets {
		log.Warn("a secret on the command line can be read by everybody on this machine", "flag", name, "remedy", name+"-file")
	}

	go sweep(ctx, store, now, watch.swept)
	go reload(ctx, cfg, access, node, hangup, log)
	select {
	case err := <-doors.serve(node.sockets):
		return errors.Join(err, side.shut(ctx))
	case <-ctx.Done():
	}
	watch.serving.Store(false)
	dispatcher.Unpause()
	patience := node.drainTimeout()
	log.Info("stopping", "drain-timeout", patience.String())
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := node.sockets.Shutdown(drain); err != nil {
		log.Warn("clients were cut", "err", err)
	}
	if err := side.shut(drain); err != nil {
		log.Warn("requests over HTTP were cut", "err", err)
	}
	allowed, denied := decisions(dispatcher)
	log.Info("stopped", "keys", store.Len(), "allowed", allowed, "denied", denied)
	return nil
}

// decisions sums up all that were made.
func decisions(d *commands.Dispatcher) (allowed, denied uint64) {
	for _, o := range d.Decisions() {
		allowed += o.Allowed
		denied += o.Denied
	}
	return allowed, denied
}

// newStore seeds the store's hash and its choice of victims from the system,
// so that no client can aim keys at one tree.
func newStore(cfg *config) (*state.Store, error) {
	seed := maphash.MakeSeed()
	return state.New(state.Config{
		MaxMemory: int64(cfg.maxMemory),
		SweepIdle: cfg.sweepIdle,
		Hash:      func(key []byte) uint64 { return maphash.Bytes(seed, key) },
		Rand:      rand.Uint64,
	})
}

// A sweep visits sweepSlots of the 16,384 slots each sweepEvery: all of them
// in 45 s.
const (
	sweepEvery = 100 * time.Millisecond
	sweepSlots = 37
)

// sweep drops buckets that are full and idle, a few slots at a time, and tells
// swept each time when it began and ended.
func sweep(ctx context.Context, store *state.Store, now func() int64, swept func(begun, ended int64)) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			begun := now()
			store.Sweep(begun, sweepSlots)
			swept(begun, now())
		}
	}
}
