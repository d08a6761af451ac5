// Package cluster is this node's place among others: it finds its cluster or
// founds one, keeps in touch with the members, and carries writes to the leader.
package cluster
