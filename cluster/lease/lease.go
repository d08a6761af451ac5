// Package lease decides for how long a node may count the slots it owns, and
// when the slots of a silent node may be taken over. Ownership is in the
// replicated log; a lease is a majority of voters' promises, which need
// neither a disk nor the leader. No instant exists at which two nodes count
// the same slot: DESIGN.md gives the rules and why they hold.
//
// The package is sans-I/O: messages, clock readings and views of the state
// machine in; messages, proposals and leases out. It starts no goroutine and
// holds no lock: a Node belongs to one goroutine, which must not be one that
// waits for disks or for the log. All instants are this node's CLOCK_BOOTTIME
// in nanoseconds (a monotonic clock that stops while the machine sleeps would
// keep a lease alive); no two nodes' instants are ever compared.
package lease

import (
	"errors"
	"fmt"
)

// NodeID is a node's random id, 1..MaxID bytes.
type NodeID string

// MaxID is the longest NodeID on the wire, in bytes.
const MaxID = 64

// Bounds of a Config.
const (
	MinLease = 10_000_000        // 10 ms, in nanoseconds
	MaxLease = 3_600_000_000_000 // 1 h, in nanoseconds
	MaxRho   = 200_000           // 20 %, in parts per million
)

// Config is a node's own; nodes may differ in all of it but Rho, which must be
// the same on all. Durations are nanoseconds.
type Config struct {
	Self  NodeID
	Lease int64 // L, the length of a promise: MinLease..MaxLease
	Tick  int64 // promises are asked for this often
	Poll  int64 // a leader polls this often while it suspects somebody
	Guard int64 // a lease ends this much before its promises do: the longest way of a reply from its check to the wire
	Rho   int64 // a clock's rate is within 1 +- Rho, in parts per million, 0..MaxRho
}

// DefaultConfig heals the crash of an owner in 1.0 to 1.4 s.
func DefaultConfig(self NodeID) Config {
	return Config{
		Self:  self,
		Lease: 1_000_000_000,
		Tick:  200_000_000,
		Poll:  100_000_000,
		Guard: 50_000_000,
		Rho:   10_000,
	}
}

// Validate names everything that is wrong with c.
func (c Config) Validate() error {
	var errs []error
	if len(c.Self) == 0 || len(c.Self) > MaxID {
		errs = append(errs, fmt.Errorf("lease: the node id has %d bytes, not 1..%d", len(c.Self), MaxID))
	}
	if c.Lease < MinLease || c.Lease > MaxLease {
		errs = append(errs, fmt.Errorf("lease: a lease of %d ns is not within %d..%d", c.Lease, MinLease, int64(MaxLease)))
	}
	if c.Tick <= 0 || c.Tick > c.Lease/2 {
		errs = append(errs, fmt.Errorf("lease: a tick of %d ns is not within 1..half a lease", c.Tick))
	}
	if c.Poll <= 0 || c.Poll > c.Lease {
		errs = append(errs, fmt.Errorf("lease: a poll of %d ns is not within 1..a lease", c.Poll))
	}
	if c.Guard < 0 || c.Guard >= c.Lease-c.Tick {
		errs = append(errs, fmt.Errorf("lease: a guard of %d ns is not within 0..a lease less a tick", c.Guard))
	}
	if c.Rho < 0 || c.Rho > MaxRho {
		errs = append(errs, fmt.Errorf("lease: a rho of %d ppm is not within 0..%d", c.Rho, MaxRho))
	}
	return errors.Join(errs...)
}

// Stretch is the advance of a clock at the upper bound of its rate during which
// one at the lower bound may advance by d: d(1+rho)/(1-rho), rounded up.
// 0 <= d <= MaxLease.
func (c Config) Stretch(d int64) int64 {
	const million = 1_000_000
	slow := million - c.Rho
	return (d*(million+c.Rho) + slow - 1) / slow
}

// Lease is how long a node may serve the slots it owns. Whoever serves checks
// it against the view and the clock of that moment: before units are taken,
// and again before the reply leaves. The zero Lease allows nothing.
type Lease struct {
	Epoch  uint64 // the registration it was promised to
	Voters uint64 // the index of the set of voters it was counted by
	Until  int64  // the first instant, of the own clock, at which it is over; the guard is taken off
	Sole   bool   // the node is the only voter: each check renews the lease
}

// Valid tells whether l lets its node, self, serve what it owns in view at now.
// A view in which the registration or the voters changed ends a lease at once,
// so a Lease may be kept by others than the goroutine of its Node.
func (l Lease) Valid(view Replicated, self NodeID, now int64) bool {
	return l.Epoch != 0 &&
		view.Epoch(self) == l.Epoch &&
		view.VotersIndex() == l.Voters &&
		(l.Sole || now < l.Until)
}

// quorum is the least number of voters that is a majority of n.
func quorum(n int) int { return n/2 + 1 }
