package main

import (
	"strings"
	"testing"
)

// TestClusterMetrics: a node that is alone is a cluster of one, which it leads,
// and what is set shows.
func TestClusterMetrics(t *testing.T) {
	s := startServer(t)
	c := dial(t, s.addr, nil)
	c.expect(t, "RL.POLICY.SET <script> LIMIT 1 WINDOW 1m", ":")
	c.expect(t, "RL.CHECK acme", "[")
	c.expect(t, "RL.CHECK acme", "[")
	_, metrics := httpGet(t, "http://"+s.atHTTP+"/metrics", "", "")
	for _, want := range []string{
		"rlserver_cluster_members 1", "rlserver_cluster_members_alive 1",
		"rlserver_cluster_voters 1", "rlserver_cluster_voters_alive 1",
		"rlserver_cluster_has_leader 1", "rlserver_cluster_is_leader 1",
		"rlserver_raft_applied_index ", "rlserver_policies 1",
		`rlserver_policy_decisions_total{outcome="allowed"} 1`,
		`rlserver_policy_decisions_total{outcome="denied"} 1`,
	} {
		if !strings.Contains(metrics, "\n"+want) {
			t.Errorf("the metrics have no line %s", want)
		}
	}
	if strings.Contains(metrics, "\nrlserver_raft_applied_index 0\n") {
		t.Error("nothing is said to be applied")
	}
	if strings.Contains(metrics, "<script>") {
		t.Error("the name of a policy is among the metrics")
	}
}
