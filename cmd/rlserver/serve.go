package main

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"math/rand/v2"
	"net"
	"time"

	"github.com/rlserver/rlserver/commands"
	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/resp"
	"github.com/rlserver/rlserver/resp/server"
	"github.com/rlserver/rlserver/state"
)

// serve runs one node until ctx ends or a client shuts it down, then drains it.
func serve(ctx context.Context, cfg *config, now func() int64, log *slog.Logger) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	store, err := newStore(cfg)
	if err != nil {
		return err
	}
	node := newNode(cfg, store, now(), stop)
	users := commands.OpenUsers()
	dispatcher, err := commands.New(commands.Config{
		Buckets:   buckets{store},
		Ownership: soleOwner{cfg.nodeName},
		Server:    node,
		Users:     func() *commands.Users { return users },
		Clock:     now,
		Bounds:    limit.Bounds{MaxLog: cfg.maxLog},
		MaxKey:    cfg.maxKey,
	})
	if err != nil {
		return err
	}
	watch := newWatch(node, dispatcher, now)
	if node.sockets, err = newSockets(cfg, watch.handler(), now, watch.events(socketEvents(log))); err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %s (--addr): %w", cfg.addr, err)
	}
	door, err := openSideDoor(ctx, cfg, watch, func() *commands.Users { return users }, log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	watch.serving.Store(true)
	log.Info("ready", "addr", listener.Addr().String(), "admin-addr", door.String(), "node", cfg.nodeName,
		"max-memory", cfg.maxMemory.String(), "version", version)

	go sweep(ctx, store, now, watch.sweptAt.Store)
	served := make(chan error, 1)
	go func() { served <- node.sockets.Serve(listener) }()
	select {
	case err := <-served:
		return errors.Join(err, door.shut(ctx))
	case <-ctx.Done():
	}
	watch.serving.Store(false)
	log.Info("stopping", "drain-timeout", cfg.drainTimeout.String())
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.drainTimeout)
	defer cancel()
	if err := node.sockets.Shutdown(drain); err != nil {
		log.Warn("clients were cut", "err", err)
	}
	if err := door.shut(drain); err != nil {
		log.Warn("requests over HTTP were cut", "err", err)
	}
	log.Info("stopped", "keys", store.Len())
	return nil
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

func newSockets(cfg *config, handler resp.Handler, now func() int64, events server.Events) (*server.Server, error) {
	sc := server.DefaultConfig()
	sc.Limits = cfg.limits()
	sc.MaxClients = cfg.maxClients
	sc.MaxClientsPerAddr = cfg.maxClientsPerAddr
	sc.IdleTimeout = cfg.idleTimeout
	sc.CommandTimeout = cfg.commandTimeout
	sc.WriteTimeout = cfg.writeTimeout
	sc.Handler = handler
	sc.Now = now
	sc.Deadline = func(from time.Duration) time.Time { return time.Now().Add(from) }
	sc.Events = events
	return server.New(sc)
}

// A sweep visits sweepSlots of the 16,384 slots each sweepEvery: all of them
// in 45 s.
const (
	sweepEvery = 100 * time.Millisecond
	sweepSlots = 37
)

// sweep drops buckets that are full and idle, a few slots at a time, and tells
// swept each time when it did.
func sweep(ctx context.Context, store *state.Store, now func() int64, swept func(at int64)) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			at := now()
			store.Sweep(at, sweepSlots)
			swept(at)
		}
	}
}
