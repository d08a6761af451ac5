package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

const clusterNodes = 3

// startCluster starts three nodes, the leader first, and returns what ends
// them, also when it fails.
func (b *bench) startCluster(ctx context.Context, dir string) (nodes []*process, stop func(), err error) {
	stop = func() {
		for _, p := range nodes {
			p.stop()
		}
	}
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte(rand.Text()+rand.Text()), 0o600); err != nil {
		return nil, stop, err
	}
	var founder string // its bus
	for n := range clusterNodes {
		bus, err := freeAddr()
		if err != nil {
			return nodes, stop, err
		}
		flags := []string{"--node-name", nodeName(n), "--cluster-secret-file", secret, "--bus-addr", bus}
		if n == 0 {
			founder = bus
			flags = append(flags, "--bootstrap-expect", "1")
		} else {
			flags = append(flags, "--join", founder)
		}
		p, err := b.startNode(ctx, dir, flags...)
		if err != nil {
			return nodes, stop, err
		}
		nodes = append(nodes, p)
		if err := waitFor(ctx, p.addr, "ready", "yes"); err != nil {
			return nodes, stop, err
		}
	}
	for _, p := range nodes {
		for field, want := range map[string]string{"voters_alive": strconv.Itoa(clusterNodes), "leader": nodeName(0)} {
			if err := waitFor(ctx, p.addr, field, want); err != nil {
				return nodes, stop, err
			}
		}
	}
	return nodes, stop, nil
}

func nodeName(n int) string { return fmt.Sprintf("node%d", n+1) }

// pick is the address of the leader, or that of another node. Under load a
// cluster may have another leader than the one it began with.
func pick(ctx context.Context, nodes []*process, leader bool) (string, error) {
	if len(nodes) == 1 {
		return nodes[0].addr, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, p := range nodes {
			status, err := ask(ctx, p.addr, "RL.CLUSTER.STATUS")
			if name := status.field("leader"); err == nil && name != "" && (name == status.field("node")) == leader {
				return p.addr, nil
			}
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("no leader is known: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// waitFor waits until a node says something of its cluster.
func waitFor(ctx context.Context, addr, field, want string) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		status, err := ask(ctx, addr, "RL.CLUSTER.STATUS")
		got := status.field(field)
		if err == nil && got == want {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s of RL.CLUSTER.STATUS is %q, want %q: %w", field, got, want, ctx.Err())
		case <-tick.C:
		}
	}
}

// field is a value of a map, which is an array of names and values in RESP2.
func (r reply) field(name string) string {
	for i := 0; i+1 < len(r.elems); i += 2 {
		if r.elems[i].text == name {
			return r.elems[i+1].text
		}
	}
	return ""
}
