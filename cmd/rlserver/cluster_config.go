package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// clusterConfig is where this node keeps what it must not forget, and which
// nodes it belongs to.
type clusterConfig struct {
	dir             string
	busAddr         string // empty: derived from --addr
	announceAddr    string
	announceBusAddr string
	join            string
	peers           string
	bootstrapExpect int
	voters          int
	secretFile      string
	raftMultiplier  int
	onError         string
	redirect        bool

	secret string // what secretFile holds; empty: the node is alone
}

func (c *clusterConfig) flags(fs *flag.FlagSet) {
	fs.StringVar(&c.dir, "dir", "rlserver-data", "`directory` in which this node keeps its identity, its policies and its counts")
	fs.StringVar(&c.busAddr, "bus-addr", "", "`address` on which the other nodes of a cluster are served (default: that of --addr with the port + 10000)")
	fs.StringVar(&c.announceAddr, "announce-addr", "", "`address` under which Redis clients reach this node, where that is not --addr: behind NAT, in a container")
	fs.StringVar(&c.announceBusAddr, "announce-bus-addr", "", "`address` under which other nodes reach this node, where that is not --bus-addr")
	fs.StringVar(&c.join, "join", "", "`addresses` of the bus of members of the cluster to join, with commas between; one is enough")
	fs.StringVar(&c.peers, "peers", "", "`addresses` of the bus of all nodes that found a cluster together, this one included, with commas between; the same on all")
	fs.IntVar(&c.bootstrapExpect, "bootstrap-expect", 0, "`number` of nodes that found a cluster: 1, or as many as --peers names; a directory that holds a cluster needs it no more")
	fs.IntVar(&c.voters, "voters", 3, "`number` of nodes that vote, the first that join; further ones follow")
	fs.StringVar(&c.secretFile, "cluster-secret-file", "", "`file` whose first line is the secret that the nodes of a cluster share, 16 bytes or more; without it the node is alone")
	fs.IntVar(&c.raftMultiplier, "raft-multiplier", 1, "`factor` of Raft's time-outs, for slow networks")
	fs.BoolVar(&c.redirect, "redirect", false, "answer MOVED to who asks for a key that another node counts, as Redis Cluster does, instead of asking that node: for clients that know clusters")
	fs.StringVar(&c.onError, "on-error", "local", "`answer` where the node that counts cannot be asked and the policy does not say: open, closed, local, error")
}

// bus is the address of the bus: that of --addr unless it was given.
func (c *clusterConfig) bus(addr string) (string, error) {
	if c.busAddr != "" {
		return c.busAddr, nil
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", errors.New("--bus-addr must be given where --addr is empty")
	}
	n, err := strconv.Atoi(port)
	if err != nil || n+10000 > 65535 {
		return "", fmt.Errorf("--bus-addr must be given: the port of --addr (%s) + 10000 is no port", port)
	}
	if n == 0 {
		return net.JoinHostPort(host, "0"), nil
	}
	return net.JoinHostPort(host, strconv.Itoa(n+10000)), nil
}

// addresses are those of a flag with commas between.
func addresses(list string) (all []string) {
	for a := range strings.SplitSeq(list, ",") {
		if a = strings.TrimSpace(a); a != "" {
			all = append(all, a)
		}
	}
	return all
}

// validate reports everything that is wrong, and reads the secret.
func (c *clusterConfig) validate(addr string) (errs []error) {
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if c.dir == "" {
		bad("--dir must name a directory")
	}
	switch c.onError {
	case "open", "closed", "local", "error":
	default:
		bad("--on-error must be open, closed, local or error, got %q", c.onError)
	}
	if c.voters < 1 || c.voters > 7 || c.voters%2 == 0 {
		bad("--voters must be 1, 3, 5 or 7, got %d", c.voters)
	}
	if c.raftMultiplier < 1 || c.raftMultiplier > 10 {
		bad("--raft-multiplier must be 1 to 10, got %d", c.raftMultiplier)
	}
	for _, f := range []struct{ name, list string }{
		{"join", c.join}, {"peers", c.peers}, {"announce-addr", c.announceAddr}, {"announce-bus-addr", c.announceBusAddr}, {"bus-addr", c.busAddr},
	} {
		for _, a := range addresses(f.list) {
			if _, _, err := net.SplitHostPort(a); err != nil {
				bad("--%s: %q is no host:port", f.name, a)
			}
		}
	}
	peers := len(addresses(c.peers))
	switch {
	case c.join != "" && c.peers != "":
		bad("--join and --peers exclude each other: the first joins a cluster, the second founds one")
	case c.peers != "" && c.bootstrapExpect != peers:
		bad("--peers names %d nodes, so --bootstrap-expect must be %d, got %d", peers, peers, c.bootstrapExpect)
	case c.peers == "" && c.bootstrapExpect > 1:
		bad("--bootstrap-expect %d needs --peers with as many addresses", c.bootstrapExpect)
	case c.bootstrapExpect < 0:
		bad("--bootstrap-expect must not be negative, got %d", c.bootstrapExpect)
	}
	if c.secretFile == "" {
		if c.redirect {
			bad("--redirect needs --cluster-secret-file: a node that is alone has nowhere to send clients")
		}
		if c.join != "" || c.peers != "" || c.bootstrapExpect > 0 {
			bad("--join, --peers and --bootstrap-expect need --cluster-secret-file: the nodes of a cluster know each other by it")
		}
		return errs
	}
	busAddr, err := c.bus(addr)
	if err != nil {
		errs = append(errs, err)
	}
	for _, a := range []struct{ flag, addr, announce string }{
		{"addr", addr, c.announceAddr}, {"bus-addr", busAddr, c.announceBusAddr},
	} {
		if a.announce == "" && anyAddress(a.addr) {
			bad("--%s %s is no address by which others reach this node: --announce-%s must be given", a.flag, a.addr, a.flag)
		}
	}
	secret, err := readSecret(c.secretFile)
	switch {
	case err != nil:
		bad("--cluster-secret-file: %w", err)
	case len(secret) < minClusterSecret:
		bad("--cluster-secret-file: the secret must have at least %d bytes, got %d; `head -c 32 /dev/urandom | base64` makes one", minClusterSecret, len(secret))
	default:
		c.secret = secret
	}
	return errs
}

// anyAddress says whether an address stands for all of the machine's.
func anyAddress(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// mode is what the start-up line calls it.
func (c *clusterConfig) mode() string {
	if c.secret == "" {
		return "standalone"
	}
	return "cluster"
}

// minClusterSecret is the least length of a cluster's secret, in bytes: who
// knows it is a member.
const minClusterSecret = 16
