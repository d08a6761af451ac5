package raftfsm

import (
	"fmt"
)

// RequestID distinguishes writes, so that one that is sent again is applied
// once. It is random.
type RequestID [16]byte

// Type says what an entry of the log does. Its number is in logs on disks: it
// never changes and is never used again.
type Type byte

// The types.
const (
	TypeFound         Type = 1 // gives the cluster its id
	TypeRegister      Type = 2 // a process of a member started
	TypePolicySet     Type = 3
	TypePolicyDelete  Type = 4
	TypePolicyReplace Type = 5 // many policies at once
	TypeNodeAdd       Type = 6 // lets a removed node come back
	TypeNodeRemove    Type = 7
	TypeAssign        Type = 8  // owners for slots that have none
	TypeTakeOver      Type = 9  // a node is down; its slots go to others
	TypeMove          Type = 10 // slots go from one node to another that has their counts
	TypeAbortMove     Type = 11
	TypeNodeDrain     Type = 12 // its slots go to others while it is up
)

// Level is the feature level of this program: entries whose types are at most
// that are understood. Every member tells its own when it registers, and none
// is sent an entry that it does not understand.
const Level = 2

// kind is one type of entry.
type kind struct {
	name  string
	level uint64 // the feature level that brought it
	// read reads the payload of that version of the type.
	read func(d *decoder, version byte) Command
}

// kinds is the table of all types.
func kinds() map[Type]kind {
	return map[Type]kind{
		TypeFound:         {"found", 1, readAs(readFound)},
		TypeRegister:      {"register", 1, readAs(readRegister)},
		TypePolicySet:     {"policy-set", 1, readAs(readPolicySet)},
		TypePolicyDelete:  {"policy-delete", 1, readAs(readPolicyDelete)},
		TypePolicyReplace: {"policy-replace", 1, readAs(readPolicyReplace)},
		TypeNodeAdd:       {"node-add", 1, readAs(readNodeAdd)},
		TypeNodeRemove:    {"node-remove", 1, readAs(readNodeRemove)},
		TypeAssign:        {"assign", 2, readAs(readAssign)},
		TypeTakeOver:      {"take-over", 2, readAs(readTakeOver)},
		TypeMove:          {"move", 2, readAs(readMove)},
		TypeNodeDrain:     {"node-drain", 2, readAs(readNodeDrain)},
		TypeAbortMove:     {"abort-move", 2, readAs(readAbortMove)},
	}
}

func readAs[C Command](read func(*decoder) C) func(*decoder, byte) Command {
	return func(d *decoder, version byte) Command {
		if version != 1 {
			d.fail(fmt.Errorf("version %d is unknown", version))
			return nil
		}
		return read(d)
	}
}

// Command is what an entry asks for: one of the types below.
type Command interface {
	kind() Type
	version() byte
	append(b []byte) []byte
	// apply changes the state at a log index, or refuses. It must depend on
	// nothing but the state.
	apply(s *state, index uint64) Result
}

// header is the length of what precedes a payload.
const header = 2 + len(RequestID{})

// Encode returns the entry of a command.
func Encode(id RequestID, c Command) []byte {
	b := append(make([]byte, 0, 64), byte(c.kind()), c.version())
	return c.append(append(b, id[:]...))
}

// UnknownEntryError is returned for an entry that this program does not
// understand: a newer one wrote it, or it is damaged. A node that meets one in
// the log must not go on.
type UnknownEntryError struct {
	Type    Type
	Version byte
	Err     error // what is wrong; nil: the type is unknown
}

func (e *UnknownEntryError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("an entry of the log has type %d, which this version does not know: upgrade this node", e.Type)
	}
	return fmt.Sprintf("an entry of the log (type %d, version %d) cannot be read: %v", e.Type, e.Version, e.Err)
}

func (e *UnknownEntryError) Unwrap() error { return e.Err }

// Decode reads an entry. Errors are *UnknownEntryError.
func Decode(entry []byte) (RequestID, Command, error) {
	var id RequestID
	if len(entry) < header {
		e := &UnknownEntryError{Err: errShort}
		if len(entry) > 1 {
			e.Type, e.Version = Type(entry[0]), entry[1]
		}
		return id, nil, e
	}
	t, version := Type(entry[0]), entry[1]
	copy(id[:], entry[2:])
	k, known := kinds()[t]
	if !known {
		return id, nil, &UnknownEntryError{Type: t, Version: version}
	}
	d := &decoder{rest: entry[header:]}
	command := k.read(d, version)
	if err := d.end(); err != nil {
		return id, nil, &UnknownEntryError{t, version, err}
	}
	return id, command, nil
}

// Result is what came of an entry. It is remembered and sent between nodes.
type Result struct {
	Index   uint64  // of the entry that was applied
	Version uint64  // of the policy that was set, or the member's epoch
	Existed bool    // what was deleted was there
	Refusal Refusal // Refused: nothing was changed
	Want    uint64  // of RefusedVersion: as policy.VersionError
	Have    uint64
	Reason  string // of RefusedReason, in words
}

// Refusal says how an entry was refused.
type Refusal byte

// The refusals.
const (
	Done           Refusal = 0
	RefusedVersion Refusal = 1 // another version than was asked for
	RefusedReason  Refusal = 2 // Reason says why
)

func refuse(format string, args ...any) Result {
	return Result{Refusal: RefusedReason, Reason: fmt.Sprintf(format, args...)}
}

// Append appends the result for another node.
func (r *Result) Append(b []byte) []byte {
	b = append(appendNumber(appendNumber(b, r.Index), r.Version), byte(r.Refusal))
	b = appendBool(b, r.Existed)
	return appendText(appendNumber(appendNumber(b, r.Want), r.Have), r.Reason)
}

func readResult(d *decoder) (r Result) {
	r.Index, r.Version = d.number(), d.number()
	if b := d.bytes(1); len(b) == 1 {
		if r.Refusal = Refusal(b[0]); r.Refusal > RefusedReason {
			d.fail(fmt.Errorf("refusal %d is unknown", r.Refusal))
		}
	}
	r.Existed = d.bool()
	r.Want, r.Have, r.Reason = d.number(), d.number(), d.text()
	return r
}

// ParseResult reads what Append wrote.
func ParseResult(b []byte) (Result, error) {
	d := &decoder{rest: b}
	r := readResult(d)
	return r, d.end()
}
