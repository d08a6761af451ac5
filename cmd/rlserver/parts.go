package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/rlserver/rlserver/cluster"
	"github.com/rlserver/rlserver/commands"
	"github.com/rlserver/rlserver/resp/server"
)

// parts are what a running node consists of, besides its addresses.
type parts struct {
	node       *node
	member     *cluster.Node
	access     *access
	watch      *watch
	dispatcher *commands.Dispatcher
	keeper     *keeper
}

// newParts wires a node together.
func newParts(ctx context.Context, cfg *config, slots *slotStates, member *cluster.Node, stop context.CancelFunc, log *slog.Logger) (*parts, error) {
	store, now := slots.store, slots.now
	p := &parts{node: newNode(cfg, store, now(), stop), member: member, access: newAccess(cfg), keeper: newKeeper(cfg, slots, now, log)}
	p.watch = newWatch(p.node, p.starting, now)
	c := commands.Config{
		Buckets:       buckets{store},
		PolicyBuckets: newPolicyBuckets(store),
		Policies:      member.Policies(),
		Ownership:     soleOwner{cfg.nodeName},
		Cluster:       members{member, cfg.cluster.mode(), cfg.nodeName},
		Server:        p.node,
		Users:         p.access.users,
		Clock:         now,
		After:         func(nanos int64, do func()) { time.AfterFunc(time.Duration(nanos), do) },
		Bounds:        cfg.bounds(),
		MaxKey:        cfg.maxKey,
		Persistence:   p.keeper,
		Loading:       p.starting,
		Events:        p.watch.commandEvents(log),
	}
	shared := cfg.cluster.secret != ""
	var err error
	if shared {
		c.Ownership = sharedOwner{member}
		if c.Sharing, err = sharing(ctx, cfg, member, now); err != nil {
			return nil, err
		}
	}
	if p.dispatcher, err = commands.New(c); err != nil {
		return nil, err
	}
	if shared {
		p.share(cfg, now)
	}
	p.watch.dispatcher, p.watch.member, p.watch.keeper = p.dispatcher, member, p.keeper
	sockets := cfg.sockets(now)
	sockets.Handler = p.dispatcher
	sockets.Events = p.watch.events(socketEvents(log))
	p.node.sockets, err = server.New(sockets)
	return p, err
}

// busAddr is where other nodes are served.
func (p *parts) busAddr() string {
	if addr := p.member.BusAddr(); addr != "" {
		return addr
	}
	return "off"
}

// starting says why the node cannot decide yet; nil: it can.
func (p *parts) starting() error {
	if err := p.keeper.loading(); err != nil {
		return err
	}
	return p.member.Ready()
}
