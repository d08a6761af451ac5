package commands

import (
	"fmt"
	"slices"
	"strings"
)

// atlas is the cluster as Redis' clients see it: who owns what.
type atlas struct {
	self  string // the name of this node
	nodes []*atlasNode
	owned []atlasRange // ascending; neighbours of one owner are one
}

type atlasNode struct {
	NodeInfo

	host   string
	port   int64
	alive  bool
	ranges []atlasRange
}

// atlasRange is some slots that have an owner.
type atlasRange struct {
	first, last uint16
	owner       *atlasNode
}

// atlas draws the cluster as this node knows it. Who is no member yet, and so
// has no address, is left out.
func (d *Dispatcher) atlas() *atlas {
	a := &atlas{self: d.cfg.Server.Describe().Node}
	byName := make(map[string]*atlasNode)
	for _, info := range d.cfg.Cluster.Nodes() {
		if info.Addr == "" || info.ID == "" {
			continue
		}
		n := &atlasNode{NodeInfo: info, host: hostOf(info.Addr), port: port(info.Addr)}
		n.alive = info.State == stateAlive || info.State == stateDraining
		a.nodes = append(a.nodes, n)
		byName[n.Name] = n
	}
	for _, r := range d.cfg.Cluster.Slots() {
		owner := byName[r.Owner]
		if owner == nil {
			continue
		}
		if end := len(a.owned) - 1; end >= 0 && a.owned[end].owner == owner && a.owned[end].last+1 == r.First {
			a.owned[end].last = r.Last
			continue
		}
		a.owned = append(a.owned, atlasRange{r.First, r.Last, owner})
	}
	for _, r := range a.owned {
		r.owner.ranges = append(r.owner.ranges, r)
	}
	return a
}

// The states of a node that can be asked.
const (
	stateAlive    = "alive"
	stateDraining = "draining"
)

// me is this node; an error while it is no member.
func (a *atlas) me() (*atlasNode, error) {
	for _, n := range a.nodes {
		if n.Name == a.self {
			return n, nil
		}
	}
	return nil, errorCode("CLUSTERDOWN", "this node is no member of its cluster yet")
}

// hostOf is the host in host:port, without the brackets of IPv6: Redis has none.
func hostOf(addr string) string {
	return strings.Trim(addr[:max(strings.LastIndexByte(addr, ':'), 0)], "[]")
}

func clusterMyID(c *Call) error {
	me, err := c.d.atlas().me()
	if err != nil {
		return err
	}
	c.W.BulkString(me.ID)
	return nil
}

// clusterSlots never answers an empty array, since clients give up then: while
// nobody owns anything, the first node that lives stands for all. It takes
// every command, as each node does.
func clusterSlots(c *Call) error {
	a := c.d.atlas()
	if _, err := a.me(); err != nil {
		return err
	}
	owned := a.owned
	if len(owned) == 0 {
		first := a.nodes[max(slices.IndexFunc(a.nodes, func(n *atlasNode) bool { return n.alive }), 0)]
		owned = []atlasRange{{0, maxSlot, first}}
	}
	w := c.W
	w.Array(len(owned))
	for _, r := range owned {
		w.Array(3)
		w.Int(int64(r.first))
		w.Int(int64(r.last))
		w.Array(4)
		w.BulkString(r.owner.host)
		w.Int(r.owner.port)
		w.BulkString(r.owner.ID)
		w.Map(0)
	}
	return nil
}

func clusterShards(c *Call) error {
	a := c.d.atlas()
	if _, err := a.me(); err != nil {
		return err
	}
	w := c.W
	w.Array(len(a.nodes))
	for _, n := range a.nodes {
		w.Map(2)
		w.BulkString("slots")
		w.Array(2 * len(n.ranges))
		for _, r := range n.ranges {
			w.Int(int64(r.first))
			w.Int(int64(r.last))
		}
		w.BulkString("nodes")
		w.Array(1)
		w.Map(7)
		w.BulkString("id")
		w.BulkString(n.ID)
		w.BulkString("port")
		w.Int(n.port)
		health := "online"
		if !n.alive {
			health = "failed"
		}
		for _, f := range []Field{{"ip", n.host}, {"endpoint", n.host}, {"role", "master"}} {
			w.BulkString(f.Name)
			w.BulkString(f.Value)
		}
		w.BulkString("replication-offset")
		w.Int(0)
		w.BulkString("health")
		w.BulkString(health)
	}
	return nil
}

// clusterNodes ends every line with a \n alone: so does Redis, and redis-cli
// drops a line that has none.
func clusterNodes(c *Call) error {
	a := c.d.atlas()
	if _, err := a.me(); err != nil {
		return err
	}
	var b strings.Builder
	for _, n := range a.nodes {
		flags, link := "master", "connected"
		if n.Name == a.self {
			flags = "myself,master"
		}
		if !n.alive {
			flags, link = flags+",fail?", "disconnected"
		}
		fmt.Fprintf(&b, "%s %s:%d@%d %s - 0 0 %d %s", n.ID, n.host, n.port, port(n.BusAddr), flags, n.Epoch, link)
		for _, r := range n.ranges {
			if r.first == r.last {
				fmt.Fprintf(&b, " %d", r.first)
			} else {
				fmt.Fprintf(&b, " %d-%d", r.first, r.last)
			}
		}
		b.WriteString("\n")
	}
	c.W.Verbatim(b.String())
	return nil
}

// clusterInfo says fail where a slot has no owner. Those of a node that does
// not answer are counted apart, as in Redis, where one node alone cannot tell
// whether another has failed; what is asked of them is answered as --on-error
// says.
func clusterInfo(c *Call) error {
	a := c.d.atlas()
	me, err := a.me()
	if err != nil {
		return err
	}
	assigned, silent, size, epoch := 0, 0, 0, uint64(0)
	for _, r := range a.owned {
		n := int(r.last) - int(r.first) + 1
		assigned += n
		if !r.owner.alive {
			silent += n
		}
	}
	for _, n := range a.nodes {
		epoch = max(epoch, n.Epoch)
		if len(n.ranges) > 0 {
			size++
		}
	}
	state := "ok"
	if assigned <= maxSlot {
		state = "fail"
	}
	c.W.Verbatim(fmt.Sprintf("cluster_state:%s\r\ncluster_slots_assigned:%d\r\ncluster_slots_ok:%d\r\ncluster_slots_pfail:%d\r\ncluster_slots_fail:0\r\n"+
		"cluster_known_nodes:%d\r\ncluster_size:%d\r\ncluster_current_epoch:%d\r\ncluster_my_epoch:%d\r\n"+
		"cluster_stats_messages_sent:0\r\ncluster_stats_messages_received:0\r\ntotal_cluster_links_buffer_limit_exceeded:0\r\n",
		state, assigned, assigned-silent, silent, len(a.nodes), size, epoch, me.Epoch))
	return nil
}
