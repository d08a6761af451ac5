package raftfsm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/raft"

	"github.com/rlserver/rlserver/policy"
)

// A request is what the leader is asked to do, by itself or by another node: a
// byte that says what, and a payload. The answer is a byte, how it went, and a
// result or a reason.
const (
	askEntry   = 1 // an entry for the log
	askAdmit   = 2 // a node's id and bus address: it may follow the log
	askPromote = 3 // a node's name or id: it votes
	askRemove  = 4 // a node's name or id: it is no member any more
)

const (
	answerDone      = 1 // a Result
	answerRefused   = 2 // a reason; it will not go better
	answerNotLeader = 3
	answerUnknown   = 4 // a reason; it may have been done
	answerNotDone   = 5 // a reason; it may go better later
)

// RefusedError is returned for a change that the cluster refuses; nothing was
// changed.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

var errNotLeader = errors.New("this node does not lead")

// retryEach is how long a request waits before it is sent again. Requests have
// ids, so that one which arrived twice is applied once.
const retryEach = 50 * time.Millisecond

// Propose adds a command to the log, wherever the leader is, and returns when
// it was applied here: what it changed can be seen at once. It takes at most
// 2.5 s, or until ctx ends. Errors are *policy.VersionError, *RefusedError, or
// wrap policy.ErrNotWritten or policy.ErrOutcomeUnknown.
func (n *Node) Propose(ctx context.Context, c Command) (Result, error) {
	if k := kinds()[c.kind()]; k.level > n.View().Level() {
		return Result{}, &RefusedError{fmt.Sprintf("a member of the cluster cannot read %s yet: upgrade all nodes first", k.name)}
	}
	var id RequestID
	if _, err := io.ReadFull(n.cfg.Rand, id[:]); err != nil {
		return Result{}, err
	}
	r, err := n.ask(ctx, append([]byte{askEntry}, Encode(id, c)...))
	if err != nil {
		return r, err
	}
	switch r.Refusal {
	case RefusedVersion:
		return r, &policy.VersionError{Want: r.Want, Have: r.Have}
	case RefusedReason:
		return r, &RefusedError{r.Reason}
	case Done:
	}
	return r, nil
}

// Register makes this process known to the cluster: its count-th registration,
// with promises of at most lease nanoseconds. It is asked for again and again
// until it succeeds, is refused, or ctx ends.
func (n *Node) Register(ctx context.Context, count, lease uint64) error {
	m := Member{
		ID: n.id, Name: n.cfg.Name, Addr: n.cfg.Addr, BusAddr: n.cfg.BusAddr,
		Nonce: n.nonce, Count: count, Level: Level, Lease: lease,
	}
	for {
		r, err := n.Propose(ctx, Register{m})
		if err == nil {
			n.waitFor(ctx, r.Index)
			n.registered.Store(r.Version)
			return ctx.Err()
		}
		if !errors.Is(err, policy.ErrNotWritten) && !errors.Is(err, policy.ErrOutcomeUnknown) {
			return err
		}
		if ctx.Err() != nil || n.ctx.Err() != nil {
			return err
		}
	}
}

// Admit lets a node follow the log.
func (n *Node) Admit(ctx context.Context, id, busAddr string) error {
	_, err := n.ask(ctx, appendText(appendText([]byte{askAdmit}, id), busAddr))
	return err
}

// Promote makes a member vote.
func (n *Node) Promote(ctx context.Context, name string) error {
	_, err := n.ask(ctx, appendText([]byte{askPromote}, name))
	return err
}

// Remove makes a member, given by name, or a node that never registered, by id,
// a member no more.
func (n *Node) Remove(ctx context.Context, name string) error {
	_, err := n.ask(ctx, appendText([]byte{askRemove}, name))
	return err
}

// memberID finds a member. It is for the leader, who knows all that registered.
func (n *Node) memberID(name string) (string, error) {
	if m, is := n.View().Named(name); is {
		return m.ID, nil
	}
	if isID(name) {
		return name, nil
	}
	return "", noSuchMember(name)
}

func noSuchMember(name string) error {
	return &RefusedError{fmt.Sprintf("no member is named %q; RL.NODE.LIST lists them", name)}
}

// ask sends a request to the leader until it is answered or time is up.
func (n *Node) ask(ctx context.Context, request []byte) (Result, error) {
	limit := n.times(writeTimeout)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	unknown := false
	for {
		r, err := n.askOnce(ctx, request)
		var refused *RefusedError
		switch {
		case err == nil:
			n.waitFor(ctx, r.Index)
			return r, nil
		case errors.As(err, &refused):
			return Result{}, err
		case !errors.Is(err, policy.ErrNotWritten):
			unknown = true
		}
		again := time.NewTimer(retryEach)
		select {
		case <-again.C:
			continue
		case <-ctx.Done():
		case <-n.ctx.Done():
		}
		again.Stop()
		if unknown {
			return Result{}, fmt.Errorf("%w: no majority of the voters confirmed the write within %s, it may still be made (%w)", policy.ErrOutcomeUnknown, limit, err)
		}
		return Result{}, fmt.Errorf("no majority of the voters answered within %s; %w (%w)", limit, policy.ErrNotWritten, err)
	}
}

// waitFor waits until this node has applied an entry. That it was committed is
// certain already.
func (n *Node) waitFor(ctx context.Context, index uint64) {
	reached, forget := n.fsm.Reached(index)
	defer forget()
	select {
	case <-reached:
	case <-ctx.Done():
	}
}

// askOnce asks the leader as it is known now.
func (n *Node) askOnce(ctx context.Context, request []byte) (Result, error) {
	leader := n.Leader()
	var answer []byte
	switch {
	case leader == "":
		return Result{}, fmt.Errorf("no leader is known: %w", policy.ErrNotWritten)
	case leader == n.id:
		answer = n.Serve(ctx, request)
	case n.cfg.Forward == nil:
		return Result{}, fmt.Errorf("another node leads: %w", policy.ErrNotWritten)
	default:
		m, _ := n.View().Member(leader)
		m.ID, m.BusAddr = leader, n.BusAddr(leader)
		var err error
		if answer, err = n.cfg.Forward(ctx, m, request); err != nil {
			return Result{}, err
		}
	}
	return readAnswer(answer)
}

func readAnswer(answer []byte) (Result, error) {
	if len(answer) == 0 {
		return Result{}, fmt.Errorf("the leader's answer is empty: %w", policy.ErrOutcomeUnknown)
	}
	text := string(answer[1:])
	switch answer[0] {
	case answerDone:
		r, err := ParseResult(answer[1:])
		if err != nil {
			return r, fmt.Errorf("the leader's answer cannot be read (%w): %w", err, policy.ErrOutcomeUnknown)
		}
		return r, nil
	case answerRefused:
		return Result{}, &RefusedError{text}
	case answerNotLeader, answerNotDone:
		return Result{}, fmt.Errorf("%s: %w", text, policy.ErrNotWritten)
	}
	return Result{}, fmt.Errorf("%s: %w", text, policy.ErrOutcomeUnknown)
}

// Serve answers a request that another node forwarded, or this node's own. The
// answer is for the Forward of the one that asked.
func (n *Node) Serve(ctx context.Context, request []byte) []byte {
	r, err := n.serve(ctx, request)
	var refused *RefusedError
	kind := byte(answerUnknown)
	switch {
	case err == nil:
		return r.Append([]byte{answerDone})
	case errors.As(err, &refused):
		return append([]byte{answerRefused}, refused.Reason...)
	case errors.Is(err, errNotLeader), errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		kind = answerNotLeader
	case errors.Is(err, raft.ErrEnqueueTimeout), errors.Is(err, policy.ErrNotWritten):
		kind = answerNotDone
	}
	return append([]byte{kind}, err.Error()...)
}

func (n *Node) serve(ctx context.Context, request []byte) (Result, error) {
	if n.raft.State() != raft.Leader {
		return Result{}, errNotLeader
	}
	if len(request) == 0 {
		return Result{}, &RefusedError{"the request is empty"}
	}
	d := &decoder{rest: request[1:]}
	switch request[0] {
	case askEntry:
		return n.apply(ctx, request[1:])
	case askAdmit:
		id, addr := readID(d), d.text()
		if err := d.end(); err != nil {
			return Result{}, &RefusedError{err.Error()}
		}
		return Result{}, n.admit(ctx, id, addr)
	case askPromote, askRemove:
		name := d.text()
		if err := d.end(); err != nil {
			return Result{}, &RefusedError{err.Error()}
		}
		id, err := n.memberID(name)
		switch {
		case err != nil:
			return Result{}, err
		case request[0] == askPromote:
			return Result{}, n.promote(ctx, id)
		}
		return n.remove(ctx, id)
	}
	return Result{}, &RefusedError{fmt.Sprintf("request %d is unknown: upgrade this node", request[0])}
}

// apply adds an entry to the log. It is the only place that does.
func (n *Node) apply(ctx context.Context, entry []byte) (Result, error) {
	if _, _, err := Decode(entry); err != nil { // all nodes would halt
		return Result{}, &RefusedError{err.Error()}
	}
	f := n.raft.Apply(entry, n.times(writeTimeout))
	if err := await(ctx, f); err != nil {
		return Result{}, err
	}
	r, ok := f.Response().(Result)
	if !ok {
		return Result{}, errHalted
	}
	return r, nil
}
