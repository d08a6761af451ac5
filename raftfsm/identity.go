package raftfsm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A node that starts cannot read the cluster's id in its log before a leader
// tells which entries are committed. So the id is also kept in a file: a node
// says who it is before it talks to anybody.

func clusterIDPath(dir string) string { return filepath.Join(dir, "cluster-id") }

// readClusterID returns the id that is kept; empty: none is yet.
func readClusterID(dir string) (string, error) {
	text, err := os.ReadFile(clusterIDPath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	id := strings.TrimSpace(string(text))
	if !isID(id) {
		return "", fmt.Errorf("%s must hold 40 hex digits, and holds %q: restore it, or start with an empty directory", clusterIDPath(dir), id)
	}
	return id, nil
}

// keepClusterID writes the cluster's id down when it is known. An id that is
// another than the one kept is no cluster that this node may be in.
func (n *Node) keepClusterID() error {
	known := n.fsm.View().Cluster
	kept := *n.cluster.Load()
	switch {
	case known == "" || known == kept:
		return nil
	case kept != "":
		return fmt.Errorf("%s belongs to cluster %s, and its log to cluster %s: restore the directory, or start with an empty one", n.cfg.Dir, kept, known)
	}
	if err := writeFile(clusterIDPath(n.cfg.Dir), []byte(known+"\n")); err != nil {
		return err
	}
	n.cluster.Store(&known)
	return nil
}

// Cluster is the id of the cluster that this node belongs to, 40 hex digits;
// empty: of none yet.
func (n *Node) Cluster() string {
	if id := n.fsm.View().Cluster; id != "" {
		return id
	}
	return *n.cluster.Load()
}

// Nonce is this process' own, random.
func (n *Node) Nonce() uint64 { return n.nonce }
