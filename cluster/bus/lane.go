package bus

import "strconv"

// Lane is what a connection is for. It is one byte of the greeting, and fixed
// for the life of the connection.
type Lane byte

// The lanes.
const (
	LaneRaft      Lane = 1 // Raft's own transport
	LaneControl   Lane = 2 // joining, writes on their way to the leader
	LaneLease     Lane = 3 // promises; nothing slow may share it
	LaneDecide    Lane = 4 // decisions on their way to an owner
	LaneStream    Lane = 5 // changed buckets for replicas, slots that move
	LaneSubscribe Lane = 6 // policies and ownership for those that are no member
)

// String is the lane's name, for logs and metrics.
func (l Lane) String() string {
	switch l {
	case LaneRaft:
		return "raft"
	case LaneControl:
		return "control"
	case LaneLease:
		return "lease"
	case LaneDecide:
		return "decide"
	case LaneStream:
		return "stream"
	case LaneSubscribe:
		return "subscribe"
	}
	return "lane " + strconv.Itoa(int(l))
}

func (l Lane) known() bool { return l >= LaneRaft && l <= LaneSubscribe }

// Role is what a node may do. It is proved by the key or certificate that the
// node holds, never claimed.
type Role byte

// The roles.
const (
	RoleMember  Role = 1 // a node of the cluster: every lane
	RoleGateway Role = 2 // a sidecar: LaneDecide and LaneSubscribe
)

// String is the role's name, for logs and metrics.
func (r Role) String() string {
	switch r {
	case RoleMember:
		return "member"
	case RoleGateway:
		return "gateway"
	}
	return "role " + strconv.Itoa(int(r))
}

// May says whether a node with this role may open the lane.
func (r Role) May(l Lane) bool {
	switch r {
	case RoleMember:
		return l.known()
	case RoleGateway:
		return l == LaneDecide || l == LaneSubscribe
	}
	return false
}
