package commands

import (
	"errors"

	"github.com/rlserver/rlserver/policy"
)

// Remote carries questions to the nodes that own slots. A question is answered
// by the Answer of their Dispatchers.
type Remote interface {
	// Ask sends a question to the owner of a slot, and calls done once, within a
	// bounded time, from any goroutine or from within. An error is ErrNotAsked if
	// certainly nothing was charged; otherwise it may have been. Neither the
	// question nor the answer may be kept.
	Ask(slot uint16, question []byte, done func(answer []byte, err error))
}

// ErrNotAsked is within the errors of questions that did not arrive, or that
// their node did not take: nothing was charged.
var ErrNotAsked = errors.New("the node that counts this key cannot be asked now")

// errNotMine is what Answer returns for slots that this node may not serve.
var errNotMine = errors.New("this node does not serve the slot")

// Sharing is what a node of several needs besides. Without it a slot that this
// node may not serve is an error.
type Sharing struct {
	Remote Remote
	// Fallback is where requests are counted whose owner cannot be asked.
	Fallback Keyed
	// Nodes is among how many nodes a limit is shared then.
	Nodes func() int64
	// OnError is what is answered then where the policy does not say.
	OnError policy.OnError
	// Redirect is the address, host:port, of the node to which clients are sent
	// that ask for keys of a slot; empty: there is none, ask for them. It is nil
	// if clients are not to be sent elsewhere.
	Redirect func(slot uint16) (addr string)
}
