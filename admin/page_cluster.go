package admin

// clusterTable is what the page shows of a cluster of several nodes.
type clusterTable struct {
	Leader  string // "": none is known
	Members []memberRow
}

// memberRow is a line of the table of members.
type memberRow struct {
	Name, Addr, Role, State string
	This, Bad               bool
}

// newClusterTable is nil for a node that is alone.
func newClusterTable(c *Cluster) *clusterTable {
	if len(c.Members) < 2 {
		return nil
	}
	t := &clusterTable{Leader: readable(c.Leader)}
	for _, m := range c.Members {
		row := memberRow{
			Name: readable(m.Name), Addr: readable(m.Addr), Role: m.role(), State: "alive",
			This: m.This, Bad: !m.Alive,
		}
		if !m.Alive {
			row.State = "unreachable"
		}
		t.Members = append(t.Members, row)
	}
	return t
}

// role is in the words of RL.NODE.LIST.
func (m *Member) role() string {
	switch {
	case m.Leads:
		return "leader"
	case m.Votes:
		return "voter"
	}
	return "nonvoter"
}
