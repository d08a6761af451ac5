package commands

import (
	"slices"
	"strings"
)

// moved sends the client to the node that serves the slot of the command's
// keys. It is nil where another node is asked instead: without --redirect;
// in EXEC, whose commands were all served when they were queued; where policies
// say whose slot it is, since a client that learned of it would take it for the
// key's; and where nobody is there to be sent to.
func (c *Call) moved(e *entry, args [][]byte) error {
	sharing := c.d.cfg.Sharing
	if sharing == nil || sharing.Redirect == nil || c.forAnother || c.S.InExec() || e.byPolicy(args) {
		return nil
	}
	keys := e.bucketKeys(args)
	if len(keys) == 0 {
		return nil
	}
	slot := c.d.cfg.Ownership.Slot(keys[0])
	other := func(key []byte) bool { return c.d.cfg.Ownership.Slot(key) != slot }
	if slices.ContainsFunc(keys[1:], other) || c.serves(slot) {
		return nil
	}
	addr := sharing.Redirect(slot)
	if addr == "" {
		return nil
	}
	return errorCode("MOVED", "%d %s", slot, strings.NewReplacer("[", "", "]", "").Replace(addr))
}

// byPolicy says whether the words mean buckets of policies.
func (e *entry) byPolicy(args [][]byte) bool {
	if e.Flags&FlagScopes != 0 {
		return true
	}
	named := func(a Arg) bool { return a.Token == "POLICY" }
	return slices.ContainsFunc(e.Args, named) && len(args) > -e.arity
}
