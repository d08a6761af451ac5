package bus

import (
	"fmt"
	"strconv"
)

// Reason says why a connection was refused. The set is fixed, so that it can
// label a metric; those below 100 go over the wire and keep their numbers.
type Reason byte

// The reasons.
const (
	ReasonGreeting Reason = 1 // what was said after TLS is no greeting
	ReasonVersion  Reason = 2 // the greeting's version is unknown
	ReasonCluster  Reason = 3 // it belongs to another cluster
	ReasonLane     Reason = 4 // there is no such lane
	ReasonRole     Reason = 5 // the role may not open the lane
	ReasonNode     Reason = 6 // another node was meant
	ReasonUnserved Reason = 7 // nobody serves the lane here, for now
	ReasonBusy     Reason = 8 // too many connections of this role

	ReasonStrangers Reason = 100 // too many that have not greeted yet, in all
	ReasonHost      Reason = 101 // too many that have not greeted yet, of one host
	ReasonTLS       Reason = 102 // no TLS handshake, or one without a proof
	ReasonTimeout   Reason = 103 // it took too long to say who it is
	ReasonGone      Reason = 104 // it went before it had said who it is
)

// String is the reason's name, for logs and metrics.
func (r Reason) String() string {
	switch r {
	case ReasonGreeting:
		return "greeting"
	case ReasonVersion:
		return "version"
	case ReasonCluster:
		return "cluster"
	case ReasonLane:
		return "lane"
	case ReasonRole:
		return "role"
	case ReasonNode:
		return "node"
	case ReasonUnserved:
		return "unserved"
	case ReasonBusy:
		return "busy"
	case ReasonStrangers:
		return "strangers"
	case ReasonHost:
		return "host"
	case ReasonTLS:
		return "tls"
	case ReasonTimeout:
		return "timeout"
	case ReasonGone:
		return "gone"
	}
	return "reason " + strconv.Itoa(int(r))
}

// RefusedError says that one side of a connection did not want it after TLS.
type RefusedError struct {
	Reason Reason
	Detail string // for a log
	ByPeer bool   // the other side refused
}

// Error says who refused, and why.
func (e *RefusedError) Error() string {
	who := "refused"
	if e.ByPeer {
		who = "refused by the peer"
	}
	return fmt.Sprintf("bus: %s (%s): %q", who, e.Reason, e.Detail)
}
