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

// callDecide is the one kind of call on the lane of decisions: the slot, the
// version under which the node that is asked owns it, as far as the asking one
// knows, and a question about it. The answer begins with one of the bytes below.
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
	n.answers.Store(answer)
	n.serveLane("the lane of decisions", n.decideLane, func(_ *bus.Conn, kind byte, payload []byte, reply bus.Reply) {
		if kind != callDecide {
			reply.Refuse("the question is of a kind that is unknown here: upgrade this node")
			return
		}
		if !wait {
			n.answerDecide(answer, payload, reply, false)
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
			n.answerDecide(answer, payload, reply, false)
		}()
	}, bus.DefaultCallLimits())
}

func (n *Node) answerDecide(answer Answer, payload []byte, reply bus.Reply, waited bool) {
	slot, size := binary.Uvarint(payload)
	known, more := uint64(0), 0
	if size > 0 {
		known, more = binary.Uvarint(payload[size:])
	}
	if more <= 0 || slot >= slots {
		reply.Refuse("the question names no slot")
		return
	}
	version, ok := n.Serve(uint16(slot))
	if !ok && !waited && (n.moves(uint16(slot)) || known > version) {
		n.answerLater(uint16(slot), known, answer, payload, reply)
		return
	}
	if !ok {
		reply.Send(binary.AppendUvarint([]byte{decideNotMine}, version))
		return
	}
	text, condition, err := answer(payload[size+more:])
	if err != nil {
		reply.Refuse(err.Error())
		return
	}
	reply.SendIf(append([]byte{decideAnswer}, text...), condition)
}

// answerLater answers a question about a slot that moves, when it no longer
// does: here, when this node knows as much of it as the one that asks.
func (n *Node) answerLater(slot uint16, known uint64, answer Answer, payload []byte, reply bus.Reply) {
	select {
	case n.served <- struct{}{}:
	default:
		reply.Refuse("too many questions wait for slots that move")
		return
	}
	reply.Hold(n.times(frozenTime))
	payload = bytes.Clone(payload)
	go func() {
		defer func() { <-n.served }()
		n.awaitView(known)
		n.awaitMove(slot)
		n.answerDecide(answer, payload, reply, true)
	}()
}

// Ask sends a question to the owner of a slot, and calls done once, from any
// goroutine or from within, with an answer that must not be kept. An error is
// ErrNotAsked if certainly nothing was done. The question is not retained.
func (n *Node) Ask(slot uint16, question []byte, done func(answer []byte, err error)) {
	n.askOwner(slot, bytes.Clone(question), maxHops, done)
}

func (n *Node) askOwner(slot uint16, question []byte, hops int, done func(answer []byte, err error)) {
	owner := n.Owner(slot)
	switch owner.ID {
	case "":
		done(nil, fmt.Errorf("%w: nobody counts slot %d now", ErrNotAsked, slot))
		return
	case n.raft.ID():
		n.askHere(slot, question, hops, done)
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
	payload := binary.AppendUvarint(make([]byte, 0, len(question)+12), uint64(slot))
	payload = append(binary.AppendUvarint(payload, owner.Version), question...)
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
			n.askAgain(slot, question, hops, owner, answer, done)
		}
	})
	if err != nil {
		p.breaker.note(false, n.cfg.Now())
		done(nil, fmt.Errorf("%w: node %s: %w", ErrNotAsked, owner.Name, err))
	}
}

// askHere is for a slot that is this node's own: one that moves, or came here
// just now.
func (n *Node) askHere(slot uint16, question []byte, hops int, done func(answer []byte, err error)) {
	if _, ok := n.Serve(slot); ok {
		n.answerHere(question, done)
		return
	}
	if !n.moves(slot) || hops == 0 {
		done(nil, fmt.Errorf("%w: this node counts slot %d, and has no lease now", ErrNotAsked, slot))
		return
	}
	go func() {
		n.awaitMove(slot)
		n.askOwner(slot, question, hops-1, done)
	}()
}

// answerHere answers a question of this node itself.
func (n *Node) answerHere(question []byte, done func(answer []byte, err error)) {
	answer, _ := n.answers.Load().(Answer)
	if answer == nil {
		done(nil, fmt.Errorf("%w: it starts", ErrNotAsked))
		return
	}
	text, condition, err := answer(question)
	switch {
	case err != nil:
		done(nil, fmt.Errorf("%w: %w", ErrNotAsked, err))
	case !condition.Holds():
		done(nil, errors.New("this node lost the slot while it decided"))
	default:
		done(text, nil)
	}
}

// askAgain asks the owner that there is by now. Who was asked knows of another,
// or this node does.
func (n *Node) askAgain(slot uint16, question []byte, hops int, asked Owner, answer []byte, done func(answer []byte, err error)) {
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
		if !n.awaitView(version) {
			done(nil, fmt.Errorf("%w: this node does not know yet who counts slot %d", ErrNotAsked, slot))
			return
		}
		n.askOwner(slot, question, hops-1, done)
	}()
}

// awaitView waits until this node has applied an entry, but not for long.
func (n *Node) awaitView(index uint64) bool {
	reached, forget := n.raft.Reached(index)
	defer forget()
	wait := time.NewTimer(n.times(frozenTime))
	defer wait.Stop()
	select {
	case <-reached:
		return true
	case <-wait.C:
	case <-n.ctx.Done():
	}
	return false
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
