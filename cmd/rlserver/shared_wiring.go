package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/rlserver/rlserver/cluster"
	"github.com/rlserver/rlserver/cluster/bus"
	"github.com/rlserver/rlserver/commands"
	"github.com/rlserver/rlserver/policy"
	"github.com/rlserver/rlserver/snapshot"
	"github.com/rlserver/rlserver/state"
)

// sharedOwner owns the slots that the cluster gave this node.
type sharedOwner struct{ *cluster.Node }

// Slot implements commands.Ownership.
func (sharedOwner) Slot(key []byte) uint16 { return state.Slot(key) }

// Owner implements commands.Ownership.
func (o sharedOwner) Owner(slot uint16) string { return o.Node.Owner(slot).Name }

// toOwners carries the commands' questions to other nodes.
type toOwners struct{ member *cluster.Node }

// Ask implements commands.Remote.
func (r toOwners) Ask(slot uint16, question []byte, done func(answer []byte, err error)) {
	r.member.Ask(slot, question, func(answer []byte, err error) {
		if errors.Is(err, cluster.ErrNotAsked) {
			err = fmt.Errorf("%w: %w", commands.ErrNotAsked, err)
		}
		done(answer, err)
	})
}

// share makes the node one of several: it answers what other nodes ask, and
// asks them.
func (p *parts) share(cfg *config, now func() int64) {
	p.member.ServeDecisions(func(question []byte) ([]byte, bus.Condition, error) {
		return p.dispatcher.Answer(question, now())
	}, cfg.sync == snapshot.SyncAlways)
}

// maxFallback bounds the memory of what is counted for other nodes, in bytes.
const maxFallback = 64 << 20

// sharing is what the commands of one of several nodes need.
func sharing(ctx context.Context, cfg *config, member *cluster.Node, now func() int64) (*commands.Sharing, error) {
	fallback, err := storeOf(min(max(cfg.maxMemory/16, minMemory), maxFallback), cfg.sweepIdle, 0)
	if err != nil {
		return nil, err
	}
	go sweep(ctx, fallback, now, func(int64, int64) {})
	s := &commands.Sharing{
		Remote:   toOwners{member},
		Fallback: buckets{fallback},
		Nodes:    func() int64 { return int64(len(member.Members())) },
		OnError:  cfg.cluster.fallback(),
	}
	if cfg.cluster.redirect {
		s.Redirect = redirect(member)
	}
	return s, nil
}

// redirect sends clients to the owners of slots, as far as these are others and
// can be asked: else clients would come back, or wait for nothing.
func redirect(member *cluster.Node) func(slot uint16) (addr string) {
	return func(slot uint16) string {
		owner := member.Owner(slot)
		if owner.ID == "" || owner.ID == member.ID() {
			return ""
		}
		for _, m := range member.Members() {
			if m.ID == owner.ID && m.Alive {
				return m.Addr
			}
		}
		return ""
	}
}

// fallbackName is the word of --on-error.
func fallbackName(how policy.OnError) string {
	switch how {
	case policy.OnErrorOpen:
		return "open"
	case policy.OnErrorClosed:
		return "closed"
	case policy.OnErrorError:
		return "error"
	case policy.OnErrorDefault, policy.OnErrorLocal:
	}
	return "local"
}

// fallback is --on-error.
func (c *clusterConfig) fallback() policy.OnError {
	switch c.onError {
	case "open":
		return policy.OnErrorOpen
	case "closed":
		return policy.OnErrorClosed
	case "error":
		return policy.OnErrorError
	}
	return policy.OnErrorLocal
}
