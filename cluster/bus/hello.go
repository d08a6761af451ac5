package bus

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// Version is that of the greeting. Nodes of different versions do not talk;
// what grows without one is told by Identity.Level.
const Version = 1

// Bounds of a greeting, in bytes.
const (
	MaxCluster = 64  // of a cluster's id
	MaxName    = 128 // of a node's name
	maxReason  = 200 // of the words in a refusal
	maxHello   = 512 // of a greeting on the wire, its length not included
)

// nodeBytes is what a node's id takes on the wire; it is written in hex.
const nodeBytes = 20

// Identity is who a node says it is. Being of the cluster is proved before.
type Identity struct {
	Cluster string // the cluster's id, MaxCluster bytes at most; empty: not known yet
	Node    string // 40 lower hex digits, for good
	Name    string // the operator's, 1..MaxName bytes
	Level   uint32 // of what the node can do
}

// Validate reports everything that cannot be said in a greeting.
func (id *Identity) Validate() error {
	var errs []error
	if len(id.Cluster) > MaxCluster {
		errs = append(errs, fmt.Errorf("bus: a cluster's id must have at most %d bytes, got %d", MaxCluster, len(id.Cluster)))
	}
	if _, err := parseNode(id.Node); err != nil {
		errs = append(errs, err)
	}
	if n := len(id.Name); n < 1 || n > MaxName {
		errs = append(errs, fmt.Errorf("bus: a node's name must have 1 to %d bytes, got %d", MaxName, n))
	}
	return errors.Join(errs...)
}

func parseNode(s string) (id [nodeBytes]byte, err error) {
	if len(s) == hex.EncodedLen(nodeBytes) {
		_, err = hex.Decode(id[:], []byte(s))
	}
	if err != nil || hex.EncodeToString(id[:]) != s {
		return id, fmt.Errorf("bus: a node's id must be %d lower hex digits, got %q", hex.EncodedLen(nodeBytes), s)
	}
	return id, nil
}

// Hello is what is known of a peer.
type Hello struct {
	Identity

	Role Role // proved in the TLS handshake
	Lane Lane
}

// The kinds of greetings, the byte after the version. Every version of the
// protocol can read a refusal of every other.
const (
	kindHello   = 1
	kindRefusal = 2
)

// greeting is a frame of the greeting: a length in two bytes, big endian, then
// version, kind and
//   - of a hello: lane, level, the dialed node's id (one byte 0, or 1 and the
//     id), the own id, cluster and name behind their lengths in one byte
//   - of a refusal: the reason in one byte, words for a log.
type greeting struct {
	hello   Hello         // its role is not on the wire
	wanted  string        // the node that the dialer means; empty: whoever answers
	refusal *RefusedError // nil: a hello
}

// errGreeting means bytes that are no greeting.
var errGreeting = errors.New("bus: malformed greeting")

// errVersion means a greeting of another version of the protocol.
var errVersion = fmt.Errorf("bus: greeting of another version; this node speaks %d", Version)

// appendGreeting appends the frame of g. It fails where the identity is not
// valid.
func appendGreeting(b []byte, g *greeting) ([]byte, error) {
	start := len(b)
	b = append(b, 0, 0, Version)
	if r := g.refusal; r != nil {
		b = append(b, kindRefusal, byte(r.Reason))
		b = append(b, r.Detail[:min(len(r.Detail), maxReason)]...)
	} else {
		if err := g.hello.Validate(); err != nil {
			return nil, err
		}
		id, err := parseNode(g.hello.Node)
		if err != nil {
			return nil, err
		}
		b = append(b, kindHello, byte(g.hello.Lane))
		b = binary.BigEndian.AppendUint32(b, g.hello.Level)
		if b, err = appendWanted(b, g.wanted); err != nil {
			return nil, err
		}
		b = append(b, id[:]...)
		b = append(append(b, byte(len(g.hello.Cluster))), g.hello.Cluster...)
		b = append(append(b, byte(len(g.hello.Name))), g.hello.Name...)
	}
	binary.BigEndian.PutUint16(b[start:], uint16(len(b)-start-2))
	return b, nil
}

func appendWanted(b []byte, node string) ([]byte, error) {
	if node == "" {
		return append(b, 0), nil
	}
	id, err := parseNode(node)
	return append(append(b, 1), id[:]...), err
}

// readGreeting reads one frame, and not a byte more. It takes maxHello bytes of
// memory at most.
func readGreeting(r io.Reader) (*greeting, error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint16(head[:])
	if n < 3 || n > maxHello {
		return nil, errGreeting
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return parseGreeting(b)
}

// parseGreeting reads what is behind the length. Each greeting has one
// encoding.
func parseGreeting(b []byte) (*greeting, error) {
	if len(b) < 3 {
		return nil, errGreeting
	}
	version, kind, b := b[0], b[1], b[2:]
	if kind == kindRefusal {
		if len(b)-1 > maxReason {
			return nil, errGreeting
		}
		return &greeting{refusal: &RefusedError{Reason: Reason(b[0]), Detail: string(b[1:]), ByPeer: true}}, nil
	}
	if version != Version {
		return nil, errVersion
	}
	if kind != kindHello {
		return nil, errGreeting
	}
	f := fields{rest: b}
	g := &greeting{hello: Hello{Lane: Lane(f.take(1)[0])}}
	g.hello.Level = binary.BigEndian.Uint32(f.take(4))
	switch f.take(1)[0] {
	case 0:
	case 1:
		g.wanted = hex.EncodeToString(f.take(nodeBytes))
	default:
		f.bad = true
	}
	g.hello.Node = hex.EncodeToString(f.take(nodeBytes))
	g.hello.Cluster = string(f.take(int(f.take(1)[0])))
	g.hello.Name = string(f.take(int(f.take(1)[0])))
	if f.bad || len(f.rest) > 0 || g.hello.Validate() != nil {
		return nil, errGreeting
	}
	return g, nil
}

// fields takes a greeting apart. Once bad it returns zeros.
type fields struct {
	rest []byte
	bad  bool
}

func (f *fields) take(n int) []byte {
	if f.bad || n > len(f.rest) {
		f.bad = true
		return make([]byte, n) // 255 bytes at most
	}
	taken := f.rest[:n]
	f.rest = f.rest[n:]
	return taken
}
