package commands

import (
	"bytes"
	"strconv"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/resp"
)

// Answered is what holds of an answer: the slots, with the versions, that this
// node must still own when the answer leaves.
type Answered struct {
	d     *Dispatcher
	slots []resp.Decided
}

// Holds says whether the answer may leave. It does not block.
func (a *Answered) Holds() bool {
	o := a.d.cfg.Ownership
	if !o.MayAnswer() {
		return false
	}
	for _, s := range a.slots {
		if !o.Holds(s.Slot, s.Version) {
			return false
		}
	}
	return true
}

// serve notes that the answer acts on a slot, if this node may.
func (a *Answered) serve(slot uint16) error {
	version, ok := a.d.cfg.Ownership.Serve(slot)
	if !ok {
		return errNotMine
	}
	a.slots = append(a.slots, resp.Decided{Slot: slot, Version: version})
	return nil
}

// Answer answers a question of another node's Dispatcher, at now. An error
// means that nothing was done. The caller asks the condition right before the
// answer leaves, and drops it if it does not hold: its outcome is unknown then.
func (d *Dispatcher) Answer(question []byte, now int64) (answer []byte, condition *Answered, err error) {
	if len(question) == 0 {
		return nil, nil, errQuestion
	}
	condition = &Answered{d: d}
	kind, rest := question[0], question[1:]
	if kind == questionRun {
		answer, err = d.runFor(condition, rest, now)
		return answer, condition, err
	}
	q, err := asked(rest)
	if err != nil {
		return nil, nil, err
	}
	for i := range q.asks {
		if err := condition.serve(q.asks[i].Slot); err != nil {
			return nil, nil, err
		}
	}
	switch kind {
	case questionAsk:
		answer, err = d.decideFor(&q, now)
	case questionGiveBack:
		err = d.giveBack(&q, now)
	default:
		err = errQuestion
	}
	if err == nil && d.cfg.Persistence != nil {
		d.cfg.Persistence.Durable()
	}
	return answer, condition, err
}

func (d *Dispatcher) decideFor(q *question, now int64) ([]byte, error) {
	var place [maxAsked]limit.Decision
	out := place[:len(q.asks)]
	var err error
	if q.policies {
		if d.cfg.PolicyBuckets == nil {
			return nil, errNoPolicies
		}
		_, err = d.cfg.PolicyBuckets.DecideAll(q.asks, q.req, now, out)
	} else {
		out[0], err = d.cfg.Buckets.Decide(q.asks[0].Key, q.asks[0].Spec, q.req, now)
	}
	if err != nil {
		return nil, err
	}
	return appendDecisions(nil, out), nil
}

// giveBack refunds what was charged in vain. That nothing is left to refund is
// no mistake.
func (d *Dispatcher) giveBack(q *question, now int64) error {
	if !q.policies || d.cfg.PolicyBuckets == nil {
		return errQuestion
	}
	for i := range q.asks {
		_, _, _, _ = d.cfg.PolicyBuckets.RefundPolicy(q.asks[i].Slot, q.asks[i].Key, q.req.Cost, now)
	}
	return nil
}

// runQuestion is the question for a command: the protocol of the reply, the
// category for which the caller's right was checked, the slot, and the words.
func runQuestion(proto int, e *entry, slot uint16, words [][]byte) []byte {
	b := append(make([]byte, 0, 64), questionRun, byte(proto))
	b = appendWord(b, []byte(e.Category))
	b = appendNumber(b, uint64(slot))
	b = appendNumber(b, uint64(len(words)))
	for _, word := range words {
		b = appendWord(b, word)
	}
	return b
}

// runFor runs a command for another node, whose reply is the answer.
func (d *Dispatcher) runFor(condition *Answered, question []byte, now int64) ([]byte, error) {
	r := wordReader{rest: question}
	proto, category := int(r.byte()), Category(r.word())
	slot := uint16(r.number(maxSlot))
	words := make([][]byte, 0, 8)
	frame := []byte(nil)
	n := r.number(int64(len(r.rest)))
	for range n {
		words = append(words, r.word())
	}
	if r.bad || len(r.rest) > 0 || len(words) == 0 || proto != 2 && proto != 3 {
		return nil, errQuestion
	}
	e, err := d.find(words)
	if err != nil || e.Category != category || !e.namesBuckets() || !arityFits(e.arity, len(words)) {
		return nil, errQuestion
	}
	if err := condition.serve(slot); err != nil {
		return nil, err
	}
	frame = append(append(append(frame, '*'), strconv.Itoa(len(words))...), "\r\n"...)
	for _, word := range words {
		frame = append(append(append(frame, '$'), strconv.Itoa(len(word))...), "\r\n"...)
		frame = append(append(frame, word...), "\r\n"...)
	}
	limits := resp.DefaultLimits()
	s := resp.NewSession(resp.ClientInfo{CreatedAt: now}, forAnother{d}, &limits, nil)
	s.Authenticated = true
	s.SetProto(proto)
	for len(frame) > 0 {
		k := copy(s.Buffer(), frame)
		s.Received(k)
		frame = frame[k:]
		if status := s.Process(now); status == resp.StatusWait || status == resp.StatusClose {
			return nil, errQuestion
		}
	}
	return bytes.Clone(s.Output()), nil
}

// forAnother is a Dispatcher whose sessions' commands are never sent on: a
// question goes from node to node once.
type forAnother struct{ *Dispatcher }

// Open implements resp.Handler.
func (f forAnother) Open(s *resp.Session) {
	c := &Call{S: s, d: f.Dispatcher, forAnother: true}
	s.Context = c
	c.become(OpenUsers().Initial())
}
