package raftfsm

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/hashicorp/raft"
)

// Recover makes the node of a directory the only voter of its cluster: for when
// the majority of the voters is lost for good. The node must not run. Other
// nodes of the cluster must be off, and join anew with empty directories: what
// they have may differ.
func Recover(dir string, now func() time.Time, log *slog.Logger) (id string, err error) {
	defer func() {
		if r := recover(); r != nil { // bbolt panics on some damaged files
			err = damaged(logPath(dir), fmt.Errorf("%v", r))
		}
	}()
	lock, err := lockDir(dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if id, err = nodeIDOf(dir, noRandom{}); err != nil {
		return "", fmt.Errorf("%s holds no node: %w", dir, err)
	}
	cluster, err := readClusterID(dir)
	if err != nil {
		return "", err
	}
	if err := checkLog(dir, cluster); err != nil {
		return "", err
	}
	bolt, err := openStore(dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, bolt.Close()) }()
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(snapshotsPath(dir), keptSnapshots, raftLogger(log))
	if err != nil {
		return "", err
	}
	n := &Node{cfg: Config{Multiplier: 1, Log: log}, id: id}
	addr, trans := raft.NewInmemTransport(raft.ServerAddress(id))
	configuration := raft.Configuration{Servers: []raft.Server{{Suffrage: raft.Voter, ID: raft.ServerID(id), Address: addr}}}
	var halted error
	fsm := &recovering{FSM: NewFSM(func(err error) { halted = err }), configuration: configuration}
	s := newStore(bolt, now, func(error) {}) // nobody watches; errors come back
	err = raft.RecoverCluster(n.raftConfig(), fsm, s, s, snapshots, trans, configuration)
	return id, errors.Join(err, halted)
}

// recovering is an FSM whose snapshots know the new voters: Raft does not tell
// them where they are forced.
type recovering struct {
	*FSM
	configuration raft.Configuration
}

// Snapshot implements raft.FSM.
func (r *recovering) Snapshot() (raft.FSMSnapshot, error) {
	r.state.setVoters(r.state.index, r.configuration)
	return r.FSM.Snapshot()
}

// noRandom is for where nothing may be made up.
type noRandom struct{}

func (noRandom) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
