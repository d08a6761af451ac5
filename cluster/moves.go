package cluster

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rlserver/rlserver/cluster/bus"
	"github.com/rlserver/rlserver/cluster/lease"
	"github.com/rlserver/rlserver/policy"
	"github.com/rlserver/rlserver/raftfsm"
)

// Slots move with their counts. Their owner stops to serve them, sends what it
// has counted, and then proposes that the other node owns them. It serves them
// no more until the log says whose they are: a move whose outcome is not known
// is ended by AbortMove, never by a time-out.

const (
	moveBatch  = 256 // slots that stand still together
	settleTime = 20 * time.Millisecond
	moveEvery  = 250 * time.Millisecond
	moveAfter  = 2 * time.Second // the members that are up must have stayed the same
	frozenTime = time.Second     // for which a question waits for a slot that moves
)

// callCopy is the one kind of call on the lane of streams: counts of slots.
const callCopy byte = 1

// copied is what precedes the counts: JSON, behind its length.
type copied struct {
	Slots []raftfsm.SlotVersion
}

// The states of a slot that moves.
const (
	open    = 0
	closing = 1 // no request begins; those that have begun may still be answered
	frozen  = 2 // nothing that was counted is answered any more
)

// moveLoop hands this node's slots over when others are to have them.
func (n *Node) moveLoop(l *leases) {
	if n.cfg.Copy == nil {
		return
	}
	var up []string
	since := n.cfg.Now()
	for {
		wait := time.NewTimer(n.times(moveEvery))
		select {
		case <-n.ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		case <-n.leaving:
			wait.Stop()
		}
		view := n.raft.View()
		if now := takers(view); !slices.Equal(now, up) {
			up, since = now, n.cfg.Now()
		}
		if self, _ := view.Member(n.raft.ID()); self.Takes() && n.cfg.Now().Sub(since) < n.times(moveAfter) {
			continue
		}
		for n.ctx.Err() == nil {
			to, slots := n.nextMove(n.raft.View())
			if len(slots) == 0 {
				break
			}
			if err := n.move(l, to, slots); err != nil {
				n.cfg.Log.Warn("slots could not be moved; it is tried again", "to", to.Name, "slots", len(slots), "err", err)
				break
			}
		}
	}
}

// takers are the ids of the members that slots may come to.
func takers(view *raftfsm.View) (ids []string) {
	for _, m := range view.Members() {
		if m.Takes() {
			ids = append(ids, m.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// transfer is a part of a plan.
type transfer struct {
	from, to string
	count    int
}

// plan says how many slots go from whom to whom, so that those who take slots
// have as many, and others none, with the least movement. All nodes come to the
// same plan.
func plan(view *raftfsm.View) (all []transfer) {
	ids := takers(view)
	if len(ids) == 0 {
		return nil
	}
	type node struct {
		id   string
		more int // than it should have
	}
	var nodes []node
	owned := 0
	for _, m := range view.Members() {
		if m.Epoch != 0 {
			owned += view.Owned(m.ID)
			nodes = append(nodes, node{m.ID, view.Owned(m.ID)})
		}
	}
	// Of those who take slots the ones with most keep the odd ones.
	slices.SortFunc(nodes, func(a, b node) int {
		if a.more != b.more {
			return b.more - a.more
		}
		return compare(a.id, b.id)
	})
	each, odd := owned/len(ids), owned%len(ids)
	for i := range nodes {
		if slices.Contains(ids, nodes[i].id) {
			nodes[i].more -= each
			if odd > 0 {
				nodes[i].more--
				odd--
			}
		}
	}
	for i := range nodes {
		for k := range nodes {
			n := min(nodes[i].more, -nodes[k].more)
			if n > 0 {
				nodes[i].more -= n
				nodes[k].more += n
				all = append(all, transfer{nodes[i].id, nodes[k].id, n})
			}
		}
	}
	return all
}

// nextMove is this node's next part of the plan: to whom which slots go.
func (n *Node) nextMove(view *raftfsm.View) (to raftfsm.Member, all []raftfsm.SlotVersion) {
	self := n.raft.ID()
	if !n.MayAnswer() {
		return to, nil
	}
	for _, t := range plan(view) {
		p, err := n.peer(t.to)
		if t.from != self || err != nil || !n.alive(p) {
			continue
		}
		to, _ = view.Member(t.to)
		number := view.NodeNumber(self)
		// From the end, so that what stays lies together.
		for slot := slots - 1; slot >= 0 && len(all) < min(t.count, moveBatch); slot-- {
			if owner, version := view.OwnerNumber(uint16(slot)); owner == number {
				all = append(all, raftfsm.SlotVersion{Slot: uint16(slot), Version: version})
			}
		}
		slices.Reverse(all)
		return to, all
	}
	return to, nil
}

// move hands slots over.
func (n *Node) move(l *leases, to raftfsm.Member, all []raftfsm.SlotVersion) error {
	self, is := n.raft.View().Member(n.raft.ID())
	if !is || self.Epoch == 0 {
		return errors.New("this node is not registered")
	}
	l.freeze(all, closing)
	defer l.thaw(all)
	pause(n.ctx, n.times(settleTime))
	l.freeze(all, frozen)
	epoch, err := n.sendCopy(to, all)
	if err == nil {
		command := raftfsm.Move{From: self.ID, FromEpoch: self.Epoch, To: to.ID, ToEpoch: epoch, Slots: all}
		_, err = n.raft.Propose(n.ctx, command)
	}
	var refused *raftfsm.RefusedError
	if err == nil || errors.As(err, &refused) {
		return err
	}
	return errors.Join(err, n.abortMove(self, all))
}

// sendCopy sends what this node has counted in slots. The answer is the epoch
// of the node that has it now.
func (n *Node) sendCopy(to raftfsm.Member, all []raftfsm.SlotVersion) (epoch uint64, err error) {
	counts, err := n.cfg.Copy(all)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", policy.ErrNotWritten, err)
	}
	head, err := json.Marshal(copied{all})
	if err != nil {
		return 0, err
	}
	p, err := n.peer(to.ID)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(n.ctx, n.times(frozenTime))
	defer cancel()
	payload := binary.AppendUvarint(nil, uint64(len(head)))
	answer, err := p.stream.Call(ctx, callCopy, append(append(payload, head...), counts...))
	if err != nil {
		return 0, err
	}
	if err := json.Unmarshal(answer, &epoch); err != nil {
		return 0, fmt.Errorf("the answer cannot be read: %w", err)
	}
	return epoch, nil
}

// abortMove goes on until the log says whose the slots are.
func (n *Node) abortMove(self raftfsm.Member, all []raftfsm.SlotVersion) error {
	for {
		_, err := n.raft.Propose(n.ctx, raftfsm.AbortMove{From: self.ID, FromEpoch: self.Epoch, Slots: all})
		var refused *raftfsm.RefusedError
		if err == nil || errors.As(err, &refused) {
			// Refused: the move was made, or the slots were taken over; or this
			// node has registered anew, and then the move is void.
			return nil
		}
		if n.ctx.Err() != nil {
			return n.ctx.Err()
		}
		pause(n.ctx, n.times(stepEvery))
	}
}

// receiveCopy takes what another node has counted in slots that it still owns.
func (n *Node) receiveCopy(from *bus.Conn, kind byte, payload []byte, reply bus.Reply) {
	var head copied
	length, size := binary.Uvarint(payload)
	if size <= 0 || length > uint64(len(payload)-size) || kind != callCopy || n.cfg.Receive == nil {
		reply.Refuse("the counts cannot be read: upgrade this node")
		return
	}
	counts := payload[size+int(length):]
	if err := json.Unmarshal(payload[size:size+int(length)], &head); err != nil {
		reply.Refuse("the counts cannot be read: upgrade this node")
		return
	}
	view := n.raft.View()
	for _, s := range head.Slots {
		if now := view.Slot(s.Slot % slots); now.Owner != from.Peer().Node || now.Version != s.Version {
			reply.Refuse(fmt.Sprintf("slot %d is not the sender's under version %d", s.Slot, s.Version))
			return
		}
	}
	if err := n.cfg.Receive(counts, head.Slots); err != nil {
		reply.Refuse(err.Error())
		return
	}
	text, err := json.Marshal(n.raft.Epoch())
	if err != nil {
		reply.Refuse(err.Error())
		return
	}
	reply.Send(text)
}

// freeze keeps requests from slots.
func (l *leases) freeze(all []raftfsm.SlotVersion, how uint32) {
	for _, s := range all {
		l.moving[s.Slot].Store(how)
	}
}

// thaw ends that, once the log has said whose the slots are.
func (l *leases) thaw(all []raftfsm.SlotVersion) {
	for _, s := range all {
		l.moving[s.Slot].Store(open)
	}
}

// awaitMove waits until a slot moves no more, for at most a second.
func (n *Node) awaitMove(slot uint16) {
	l := n.leases.Load()
	if l == nil {
		return
	}
	limit := time.NewTimer(n.times(frozenTime))
	defer limit.Stop()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for n.moves(slot) {
		select {
		case <-look.C:
		case <-limit.C:
			return
		case <-n.ctx.Done():
			return
		}
	}
}

// moves says whether a slot of this node stands still: it is on its way to
// another one, or came here just now.
func (n *Node) moves(slot uint16) bool {
	l := n.leases.Load()
	if l == nil {
		return false
	}
	s := l.now.Load()
	owner, version := s.view.view.OwnerNumber(slot)
	return l.moving[slot].Load() != open || s.self != 0 && owner == s.self && l.ready[slot].Load() != version
}

// Drain hands this node's slots to others before the process ends, until ctx
// ends.
func (n *Node) Drain(ctx context.Context) error {
	if n.bus == nil || !n.cfg.Shared || n.raft.Epoch() == 0 || len(takers(n.raft.View())) < 2 {
		return nil
	}
	self, _ := n.raft.View().Member(n.raft.ID())
	if _, err := n.raft.Propose(ctx, raftfsm.NodeDrain{ID: self.ID, Drains: self.Drains, Leaves: true}); err != nil {
		return err
	}
	n.leave.Do(func() { close(n.leaving) })
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for n.Owned(n.raft.ID()) > 0 {
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("%d slots were not handed over: %w", n.Owned(n.raft.ID()), ctx.Err())
		}
	}
	return nil
}

// SetDrain says whether a member's slots are to go to others. It calls done
// once, when that is known to all, not when they are gone.
func (n *Node) SetDrain(name string, drains bool, done func(error)) {
	n.change(done, func(ctx context.Context) error {
		m, is := n.raft.View().Named(name)
		if !is {
			return &raftfsm.RefusedError{Reason: fmt.Sprintf("no member is named %q; RL.NODE.LIST lists them", name)}
		}
		_, err := n.raft.Propose(ctx, raftfsm.NodeDrain{ID: m.ID, Drains: drains, Leaves: m.Leaves})
		return err
	})
}

// ForceWithdraw takes a member's slots from it, on an operator's word that it
// is off.
func (n *Node) ForceWithdraw(name string, done func(error)) {
	n.change(done, func(ctx context.Context) error {
		m, is := n.raft.View().Named(name)
		l := n.leases.Load()
		if !is || l == nil {
			return &raftfsm.RefusedError{Reason: fmt.Sprintf("no member is named %q; RL.NODE.LIST lists them", name)}
		}
		if m.ID == n.raft.ID() {
			return &raftfsm.RefusedError{Reason: "this node is not off: ask another one"}
		}
		_, err := n.raft.Propose(ctx, raftfsm.TakeOver{Node: m.ID, Epoch: m.Epoch, Targets: l.targets(lease.NodeID(m.ID)), Forced: true})
		return err
	})
}

// pause waits, until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
	}
}
