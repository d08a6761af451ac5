// Package raftfsm is what all nodes of a cluster agree on: policies, who is a
// member, and (FSM) how a log of entries becomes that. A Node runs Raft over it.
package raftfsm
