package lease

// Message is one of Request, Answer, Poll and Testimony.
type Message interface {
	kind() byte
}

// Request asks a voter for a promise. It goes from a node to every voter.
type Request struct {
	Epoch  uint64 // the node's epoch
	Sent   int64  // the node's clock before sending, 0 or more; the answer returns it
	Lease  int64  // how long a promise is asked for, in nanoseconds
	Voters uint64 // the index of the set of voters that the node counts by, never lower than before within an epoch
}

// Verdict is a voter's answer to a Request.
type Verdict byte

// The verdicts.
const (
	// Promised: the voter will not witness against the epoch for the length asked
	// for, by its own clock and with the clocks' rates allowed for.
	Promised Verdict = 1
	// Behind: the voter has not applied the registration yet.
	Behind Verdict = 2
	// Refused: the voter has withdrawn from the epoch, or knows that it is over.
	// It will never promise again: the node has to register anew.
	Refused Verdict = 3
)

// Answer is a voter's, to one Request.
type Answer struct {
	Epoch   uint64 // of the Request
	Sent    int64  // of the Request
	Verdict Verdict
}

// Suspect is a registration that a leader has not heard of.
type Suspect struct {
	Node  NodeID
	Epoch uint64
}

// Poll asks a voter to withdraw from the suspects, and what it knows of the
// voters that nodes count by. A leader sends it.
type Poll struct {
	Suspects []Suspect // MaxList at most
}

// Report is that a node said, in a Request, by which voters it counts.
type Report struct {
	Node   NodeID
	Epoch  uint64
	Voters uint64
}

// Testimony answers a Poll. From Withdrawn the voter has withdrawn for ever, as
// far as it is remembered by the process that registered at Epoch.
type Testimony struct {
	Epoch     uint64    // the voter's own, 0 where it is not registered: then Withdrawn is empty
	Withdrawn []Suspect // MaxList at most
	Reports   []Report  // MaxList at most
}

func (Request) kind() byte   { return 1 }
func (Answer) kind() byte    { return 2 }
func (Poll) kind() byte      { return 3 }
func (Testimony) kind() byte { return 4 }

// Envelope is a message and whom to send it to.
type Envelope struct {
	To      NodeID
	Message Message
}

// Register is to be committed for this node. The driver adds what else the log
// wants to know: names, addresses, the feature level.
type Register struct {
	Nonce Nonce
	Lease int64 // nanoseconds
}

// TakeOver is to be committed by this node, which leads: the node's epoch ends,
// and its slots go to others. The state machine applies it only if the epoch
// still holds and the witnesses that are voters at that index, with the epoch
// they signed with, are a majority of the voters.
type TakeOver struct {
	Node      NodeID
	Epoch     uint64
	Witnesses []Witness
}

// Witness is a voter that has withdrawn, and its epoch when it did.
type Witness struct {
	Node  NodeID
	Epoch uint64
}

// Output is what a step of a Node wants to be done. The Lease is to be made
// known to whoever serves before anything is sent: a Request tells voters that
// the node no longer counts by older sets of voters.
type Output struct {
	Lease     Lease
	Send      []Envelope
	Register  *Register // nil: none
	TakeOvers []TakeOver
}

func (o *Output) send(to NodeID, m Message) {
	o.Send = append(o.Send, Envelope{To: to, Message: m})
}
