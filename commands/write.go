package commands

import (
	"errors"

	"github.com/rlserver/rlserver/policy"
	"github.com/rlserver/rlserver/resp"
)

// write is a command that waits for the cluster to agree. The session goes on
// meanwhile with nothing but waiting, so the Call stays the command's own; its
// Args do not.
type write[T any] struct {
	c     *Call
	begin func(done func(T, error)) // starts it; done is called once
	reply func(T)                   // writes the reply of one that was made
	tells string                    // the command that tells what came of it

	result T
	err    error
}

// await makes the session wait for a write.
func await[T any](c *Call, tells string, begin func(done func(T, error)), reply func(T)) {
	c.S.Wait(&write[T]{c: c, begin: begin, reply: reply, tells: tells})
}

// Start begins the write.
func (p *write[T]) Start(wake func()) {
	p.begin(func(result T, err error) {
		p.result, p.err = result, err
		wake()
	})
}

// Finish answers for it.
func (p *write[T]) Finish(_ *resp.Session, w *resp.Writer, now int64) {
	c := p.c
	c.W, c.Now = w, now
	if p.err == nil {
		p.reply(p.result)
		return
	}
	c.entry.stats.failed.Add(1)
	c.fail(writeError(p.err, p.tells))
}

// writeError is what a client is told of a write that was not made, or not to
// our knowledge.
func writeError(err error, tells string) error {
	switch {
	case errors.Is(err, policy.ErrOutcomeUnknown):
		return errorf("%s; %s tells", err, tells)
	case errors.Is(err, policy.ErrNotWritten):
		return errorCode("TRYAGAIN", "%s", err)
	}
	return err
}

// ok writes the reply of a write that has nothing more to tell.
func (c *Call) ok(struct{}) { c.W.Simple("OK") }
