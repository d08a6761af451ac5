package cluster

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rlserver/rlserver/cluster/bus"
)

// callDecide is the one kind of call on the lane of decisions: the slot, and a
// question about it. The answer begins with one of the bytes below.
const callDecide byte = 1

const (
	decideAnswer  byte = 1 // what follows is the answer
	decideNotMine byte = 2 // the slot's version at the node that was asked
)

// Bounds of a question.
const (
	decideTimeout = 100 * time.Millisecond
	maxHops       = 3 // times that a question is sent on since the slot has moved
)

// ErrNotAsked is within the errors of questions that certainly were not
// answered: nothing was charged.
var ErrNotAsked = errors.New("the owner of the slot cannot be asked")

// Answer answers a question of another node. condition is asked right before
// the answer leaves. An error means that nothing was done.
type Answer func(question []byte) (answer []byte, condition bus.Condition, err error)

// ServeDecisions answers the questions of other nodes from now on. Where answers
// wait for the disk each gets a goroutine.
func (n *Node) ServeDecisions(answer Answer, wait bool) {
	if n.bus == nil {
		return
	}
	n.serveLane("the lane of decisions", n.decideLane, func(_ *bus.Conn, kind byte, payload []byte, reply bus.Reply) {
		if kind != callDecide {
			reply.Refuse("the question is of a kind that is unknown here: upgrade this node")
			return
		}
		if !wait {
			n.answerDecide(answer, payload, reply)
			return
		}
		select {
		case n.served <- struct{}{}:
		default:
			reply.Refuse("too many questions wait for the disk")
			return
		}
		payload = bytes.Clone(payload)
		go func() {
			defer func() { <-n.served }()
			n.answerDecide(answer, payload, reply)
		}()
	}, bus.DefaultCallLimits())
}

func (n *Node) answerDecide(answer Answer, payload []byte, reply bus.Reply) {
	slot, size := binary.Uvarint(payload)
	if size <= 0 || slot >= slots {
		reply.Refuse("the question names no slot")
		return
	}
	version, ok := n.Serve(uint16(slot))
	if !ok {
		reply.Send(binary.AppendUvarint([]byte{decideNotMine}, version))
		return
	}
	text, condition, err := answer(payload[size:])
	if err != nil {
		reply.Refuse(err.Error())
		return
	}
	reply.SendIf(append([]byte{decideAnswer}, text...), condition)
}

// Ask sends a question to the owner of a slot, and calls done once, from any
// goroutine or from within, with an answer that must not be kept. An error is
// ErrNotAsked if certainly nothing was done. The question is not retained.
func (n *Node) Ask(slot uint16, question []byte, done func(answer []byte, err error)) {
	payload := binary.AppendUvarint(make([]byte, 0, len(question)+3), uint64(slot))
	n.askOwner(slot, append(payload, question...), maxHops, done)
}

func (n *Node) askOwner(slot uint16, payload []byte, hops int, done func(answer []byte, err error)) {
	owner := n.Owner(slot)
	switch owner.ID {
	case "":
		done(nil, fmt.Errorf("%w: nobody counts slot %d now", ErrNotAsked, slot))
		return
	case n.raft.ID():
		done(nil, fmt.Errorf("%w: this node counts slot %d, and has no lease now", ErrNotAsked, slot))
		return
	}
	p, err := n.peer(owner.ID)
	if err == nil && !p.breaker.allows(n.cfg.Now()) {
		err = errors.New("it did not answer of late")
	}
	if err != nil {
		done(nil, fmt.Errorf("%w: node %s: %w", ErrNotAsked, owner.Name, err))
		return
	}
	err = p.decide.Start(callDecide, payload, n.times(decideTimeout), func(answer []byte, err error) {
		p.breaker.note(err == nil, n.cfg.Now())
		switch {
		case errors.Is(err, bus.ErrNotDone):
			done(nil, fmt.Errorf("%w: node %s: %w", ErrNotAsked, owner.Name, err))
		case err != nil:
			done(nil, fmt.Errorf("node %s did not answer: %w", owner.Name, err))
		case len(answer) > 0 && answer[0] == decideAnswer:
			done(answer[1:], nil)
		default:
			n.askAgain(slot, payload, hops, owner, answer, done)
		}
	})
	if err != nil {
		p.breaker.note(false, n.cfg.Now())
		done(nil, fmt.Errorf("%w: node %s: %w", ErrNotAsked, owner.Name, err))
	}
}

// askAgain asks the owner that there is by now. Who was asked knows of another,
// or this node does.
func (n *Node) askAgain(slot uint16, payload []byte, hops int, asked Owner, answer []byte, done func(answer []byte, err error)) {
	if len(answer) < 2 || answer[0] != decideNotMine {
		done(nil, fmt.Errorf("%w: node %s answered what is unknown here: upgrade this node", ErrNotAsked, asked.Name))
		return
	}
	version, _ := binary.Uvarint(answer[1:])
	if hops == 0 {
		done(nil, fmt.Errorf("%w: slot %d moves", ErrNotAsked, slot))
		return
	}
	if version <= asked.Version && n.Owner(slot).Version == asked.Version {
		done(nil, fmt.Errorf("%w: node %s has no lease now", ErrNotAsked, asked.Name))
		return
	}
	// This runs on the connection's goroutine, which must not wait.
	go func() {
		reached, forget := n.raft.Reached(version)
		defer forget()
		wait := time.NewTimer(n.times(decideTimeout))
		defer wait.Stop()
		select {
		case <-reached:
			n.askOwner(slot, payload, hops-1, done)
		case <-wait.C:
			done(nil, fmt.Errorf("%w: this node does not know yet who counts slot %d", ErrNotAsked, slot))
		}
	}()
}

// breaker keeps questions from a node that does not answer: after so many
// failures in a row one is let through from time to time.
type breaker struct {
	failures atomic.Int32
	next     atomic.Int64 // when one is let through, Unix nanoseconds
}

const (
	breakAfter = 5
	probeEvery = 100 * time.Millisecond
)

// allows says whether a question may be sent.
func (b *breaker) allows(now time.Time) bool {
	if b.failures.Load() < breakAfter {
		return true
	}
	next, at := b.next.Load(), now.UnixNano()
	return at >= next && b.next.CompareAndSwap(next, at+probeEvery.Nanoseconds())
}

// note notes what came of a question.
func (b *breaker) note(ok bool, now time.Time) {
	if ok {
		b.failures.Store(0)
		return
	}
	if b.failures.Add(1) == breakAfter {
		b.next.Store(now.Add(probeEvery).UnixNano())
	}
}
