package lease

// reports is what a node knows of the sets of voters that others count by:
// rule 7. A report stays true as long as its epoch does, whoever relays it.
type reports map[NodeID]Report

// add keeps the newest.
func (rs reports) add(r Report) {
	old, ok := rs[r.Node]
	if !ok || r.Epoch > old.Epoch || r.Epoch == old.Epoch && r.Voters > old.Voters {
		rs[r.Node] = r
	}
}

// observe drops those whose epoch is over.
func (rs reports) observe(view Replicated) {
	for node, r := range rs {
		if view.Applied() >= r.Epoch && view.Epoch(node) != r.Epoch {
			delete(rs, node)
		}
	}
}

// list is for a testimony: what is known of the nodes registered in view.
func (rs reports) list(view Replicated) []Report {
	var out []Report
	for _, node := range view.Registered() {
		if r, ok := rs[node]; ok && len(out) < MaxList {
			out = append(out, r)
		}
	}
	return out
}

// missing are the registered nodes that are not known to count by the view's
// set of voters.
func (rs reports) missing(view Replicated) []NodeID {
	var out []NodeID
	for _, node := range view.Registered() {
		r, ok := rs[node]
		if !ok || r.Epoch != view.Epoch(node) || r.Voters < view.VotersIndex() {
			out = append(out, node)
		}
	}
	return out
}
