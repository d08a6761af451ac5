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
	"github.com/rlserver/rlserver/state"
)

// serve runs one node until ctx ends, a client shuts it down or the node must
// end, then drains it.
func serve(ctx context.Context, cfg *config, now func() int64, hangup <-chan os.Signal, log *slog.Logger) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	store, err := newStore(cfg)
	if err != nil {
		return err
	}
	doors, err := openDoors(ctx, cfg)
	if err != nil {
		return err
	}
	slots := newSlotStates(store, now)
	member, fatal, err := openCluster(ctx, cfg, slots, doors.addr(), log)
	if err != nil {
		return errors.Join(err, doors.close())
	}
	p, err := newParts(ctx, cfg, slots, member, stop, log)
	if err != nil {
		return errors.Join(err, doors.close(), member.Close())
	}
	p.node.addr = doors.addr()
	side, err := openSideDoor(ctx, cfg, p, log)
	if err != nil {
		p.keeper.close()
		return errors.Join(err, doors.close(), member.Close())
	}
	go sweep(ctx, store, now, p.watch.swept)
	go reload(ctx, cfg, p.access, p.node, hangup, log)
	for _, name := range cfg.typedSecrets {
		log.Warn("a secret on the command line can be read by everybody on this machine", "flag", name, "remedy", name+"-file")
	}

	var shut <-chan error // nil: the doors were not opened yet
	open := func() {
		if shut == nil {
			shut = doors.serve(p.node.sockets)
			p.watch.serving.Store(true)
		}
	}
	started, patience := p.started(ctx), time.NewTimer(startPatience)
	defer patience.Stop()
	for {
		select {
		case err := <-started:
			if err != nil {
				_ = doors.close() // those that were never opened, too
				return p.cut(err)
			}
			started = nil
			open()
			log.Info("ready", "addr", doors.plainAddr(), "tls-addr", doors.tlsAddr(), "admin-addr", side.String(), "bus-addr", p.busAddr(),
				"mode", cfg.cluster.mode(), "access", cfg.describeAccess(), "node", cfg.nodeName, "dir", cfg.cluster.dir,
				"max-memory", cfg.maxMemory.String(), "version", version)
		case <-patience.C:
			if started != nil {
				log.Info("not ready yet", "why", p.starting(), "addr", doors.plainAddr(), "bus-addr", p.busAddr(), "node", cfg.nodeName)
				open()
			}
		case err := <-shut:
			return errors.Join(err, side.shut(ctx), member.Close())
		case err := <-fatal:
			_ = doors.close() // those that were never opened, too
			return p.cut(err)
		case <-ctx.Done():
			p.drain(ctx, doors, side, log)
			return nil
		}
	}
}

// startPatience is how long clients wait for a node that starts, so that they
// do not meet one that cannot decide yet: most starts take less.
const startPatience = time.Second

// started is told when the node can decide, or why it never will.
func (p *parts) started(ctx context.Context) <-chan error {
	started := make(chan error, 1)
	go func() {
		if err := <-p.keeper.loaded; err != nil {
			started <- err
			return
		}
		select {
		case <-p.member.Registered():
			started <- nil
		case <-ctx.Done():
		}
	}()
	return started
}

// cut ends all connections at once, for a process that must end. The disk may
// hang: nothing here waits for it.
func (p *parts) cut(why error) error {
	ctx, now := context.WithCancel(context.Background())
	now()
	_ = p.node.sockets.Shutdown(ctx)
	return why
}

// drain lets clients finish, within a bound, and saves what they counted.
func (p *parts) drain(ctx context.Context, doors doors, side *sideDoor, log *slog.Logger) {
	p.watch.serving.Store(false)
	p.dispatcher.Unpause()
	patience := p.node.drainTimeout()
	log.Info("stopping", "drain-timeout", patience.String())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_ = doors.close() // those that were never opened, too
	if err := p.member.Drain(ctx); err != nil {
		log.Warn("not all slots were handed over: others take them, without what was counted", "err", err)
	}
	if err := p.node.sockets.Shutdown(ctx); err != nil {
		log.Warn("clients were cut", "err", err)
	}
	if err := side.shut(ctx); err != nil {
		log.Warn("requests over HTTP were cut", "err", err)
	}
	p.keeper.close()
	if err := p.member.Leave(ctx); err != nil {
		log.Warn("the leadership was not handed over: the others elect a leader", "err", err)
	}
	if err := p.member.Close(); err != nil {
		log.Error("the node did not close well", "err", err)
	}
	allowed, denied := decisions(p.dispatcher)
	log.Info("stopped", "keys", p.node.store.Len(), "allowed", allowed, "denied", denied)
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
	return storeOf(cfg.maxMemory, cfg.sweepIdle, state.ForDisk)
}

func storeOf(memory bytesValue, sweepIdle time.Duration, collect state.Collector) (*state.Store, error) {
	seed := maphash.MakeSeed()
	return state.New(state.Config{
		MaxMemory: int64(memory),
		Collect:   collect,
		SweepIdle: sweepIdle,
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
