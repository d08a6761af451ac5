package main

import (
	"strconv"

	"github.com/rlserver/rlserver/admin"
	"github.com/rlserver/rlserver/cluster"
)

// clusterSnapshot shows the cluster to the side door in its words.
func clusterSnapshot(n *cluster.Node, mode string) admin.Cluster {
	c := admin.Cluster{Mode: mode}
	for _, f := range n.Status() {
		switch f.Name {
		case "cluster":
			c.ID = f.Value
		case "leader":
			c.Leader = f.Value
		case "applied":
			c.Applied, _ = strconv.ParseUint(f.Value, 10, 64) // it was a number there
		}
	}
	for _, m := range n.Members() {
		this := m.ID == n.ID()
		c.Leads = c.Leads || this && m.Leads
		name := m.Name
		if name == "" {
			name = m.ID
		}
		c.Members = append(c.Members, admin.Member{
			Name: name, Addr: m.Addr, This: this, Leads: m.Leads, Votes: m.Votes, Alive: m.Alive,
		})
	}
	return c
}
