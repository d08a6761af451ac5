package admin

import (
	"strings"
	"testing"
)

// threeNodes is a cluster whose third node, of a strange name, does not answer.
func threeNodes() Cluster {
	return Cluster{
		Mode: "cluster", ID: "c1", Leader: "node-2", Applied: 42,
		Members: []Member{
			{Name: "node-1", Addr: "10.0.0.1:7379", This: true, Votes: true, Alive: true},
			{Name: "node-2", Addr: "10.0.0.2:7379", Leads: true, Votes: true, Alive: true},
			{Name: "<script>node</script>", Votes: true},
		},
	}
}

func TestClusterOnThePage(t *testing.T) {
	node := newFakeNode()
	s := newServer(t, config(node))
	page := render(t, s, "/live")
	if strings.Contains(page, "h-cluster") || !strings.Contains(page, "<span>standalone</span>") {
		t.Error("a node that is alone shows members, or not its mode")
	}
	node.set(func(n *fakeNode) { n.snapshot.Cluster = threeNodes() })
	page = render(t, s, "/live")
	for _, want := range []string{
		"<span>cluster</span>", "led by <bdi>node-2</bdi>",
		`<bdi class="node">node-1</bdi> <span class="bytes">this node</span> <span class="addr">10.0.0.1:7379</span></th><td>voter</td><td class="good">alive</td>`,
		`<bdi class="node">node-2</bdi> <span class="addr">10.0.0.2:7379</span></th><td>leader</td><td class="good">alive</td>`,
		`<bdi class="node">&lt;script&gt;node&lt;/script&gt;</bdi></th><td>voter</td><td class="bad">unreachable</td>`,
		"<strong>1</strong> of 3 voters do not answer this node",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %s", want)
		}
	}
	node.set(func(n *fakeNode) {
		c := &n.snapshot.Cluster
		c.Leader, c.Members = "", []Member{{Name: "a", This: true, Votes: true, Alive: true}, {Name: "b", Alive: true}}
	})
	page = render(t, s, "/live")
	for _, want := range []string{"no leader is known", "<strong>No leader</strong> is known:", "<td>nonvoter</td>"} {
		if !strings.Contains(page, want) {
			t.Errorf("without a leader the page does not say %s", want)
		}
	}
}
