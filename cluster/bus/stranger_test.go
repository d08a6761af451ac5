package bus

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

func fromSecret(tb testing.TB, cluster string) *Credentials {
	tb.Helper()
	c, err := FromSecrets([]byte(cluster), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// forge returns credentials that claim to be a member's, and shake hands with
// anybody.
func forge(from *Credentials, change func(*tls.Config)) *Credentials {
	forged := &Credentials{role: RoleMember, client: from.client.Clone()}
	forged.client.VerifyConnection = nil
	if change != nil {
		change(forged.client)
	}
	return forged
}

func proto(names ...string) func(*tls.Config) {
	return func(c *tls.Config) { c.NextProtos = names }
}

// Whoever has no key of this cluster does not get past TLS, whatever he offers.
func TestStrangers(t *testing.T) {
	tls12 := func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12 }
	for name, forged := range map[string]*Credentials{
		"another secret":           forge(fromSecret(t, "another cluster's secret"), nil),
		"the gateway secret":       forge(fromSecret(t, string(gatewaySecret)), nil),
		"a gateway as member":      forge(fromGatewaySecret(t), proto(protoMember)),
		"a member as gateway":      forge(fromSecrets(t), proto(protoGateway)),
		"a member of no protocol":  forge(fromSecrets(t), proto()),
		"a member of another":      forge(fromSecrets(t), proto("h2")),
		"a member of both":         forge(fromGatewaySecret(t), proto(protoMember, protoGateway)),
		"without a certificate":    forge(fromSecrets(t), func(c *tls.Config) { c.Certificates = nil }),
		"a member with TLS 1.2":    forge(fromSecrets(t), tls12),
		"an operator's own member": forge(newAuthority(t).credentials(t, memberCert()), nil),
	} {
		t.Run(name, func(t *testing.T) {
			a, b := start(t), other(t, with(forged))
			a.listen(t, LaneRaft)
			if _, err := b.Dial(t.Context(), Target{Addr: a.addr}, LaneRaft); !errors.Is(err, ErrRefusedTLS) {
				t.Errorf("got %v, want %v", err, ErrRefusedTLS)
			}
			expectRefused(t, a, ReasonTLS)
		})
	}
}

// A gateway may open its lanes, and is refused on all others.
func TestGateway(t *testing.T) {
	a := start(t)
	honest := other(t, with(fromGatewaySecret(t)))
	liar := other(t, with(forge(fromGatewaySecret(t), nil)))
	for _, lane := range lanes() {
		t.Run(lane.String(), func(t *testing.T) {
			l := a.listen(t, lane)
			if lane == LaneDecide || lane == LaneSubscribe {
				dialed, accepted := pair(t, honest, a, l)
				if got := accepted.Peer().Role; got != RoleGateway {
					t.Errorf("the peer is a %s", got)
				}
				exchange(t, dialed, accepted)
				exchange(t, accepted, dialed)
				return
			}
			to := Target{Addr: a.addr}
			_, err := honest.Dial(t.Context(), to, lane)
			expectReason(t, err, ReasonRole, false)
			_, err = liar.Dial(t.Context(), to, lane)
			expectReason(t, err, ReasonRole, true)
			expectRefused(t, a, ReasonRole)
		})
	}
	_, err := liar.Dial(t.Context(), Target{Addr: a.addr}, LaneSubscribe+1)
	expectReason(t, err, ReasonRole, false)
}

// A gateway's secret is of no use where none is accepted, and a gateway does
// not take a member of another cluster for its own.
func TestGatewaySecrets(t *testing.T) {
	a := start(t, with(fromSecret(t, string(clusterSecret))))
	g := other(t, with(fromGatewaySecret(t)))
	if _, err := g.Dial(t.Context(), Target{Addr: a.addr}, LaneDecide); !errors.Is(err, ErrRefusedTLS) {
		t.Errorf("no gateways: got %v", err)
	}
	foreign, err := FromGatewaySecret([]byte("the secret of other gateways"))
	if err != nil {
		t.Fatal(err)
	}
	a, g = start(t), other(t, with(foreign))
	if _, err := g.Dial(t.Context(), Target{Addr: a.addr}, LaneDecide); !errors.Is(err, ErrStranger) {
		t.Errorf("other gateways: got %v", err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Serve(ln); err == nil || errors.Is(err, ErrClosed) {
		t.Errorf("a gateway serves: %v", err)
	}
}

func TestSecrets(t *testing.T) {
	short, long := []byte("fifteen bytes.."), []byte("sixteen bytes...")
	for name, make := range map[string]func() (*Credentials, error){
		"no cluster secret":   func() (*Credentials, error) { return FromSecrets(nil, long) },
		"short":               func() (*Credentials, error) { return FromSecrets(short, nil) },
		"short for gateways":  func() (*Credentials, error) { return FromSecrets(long, short) },
		"the same for both":   func() (*Credentials, error) { return FromSecrets(long, long) },
		"short, of a gateway": func() (*Credentials, error) { return FromGatewaySecret(short) },
	} {
		if _, err := make(); err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), "bytes..") {
			t.Errorf("%s: the error tells the secret: %v", name, err)
		}
	}
}

// What is no TLS costs its connection, and nobody else.
func TestGarbage(t *testing.T) {
	a, b := start(t), other(t)
	l := a.listen(t, LaneRaft)
	for name, text := range map[string]string{
		"HTTP":    "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"RESP":    "*1\r\n$4\r\nPING\r\n",
		"zeros":   strings.Repeat("\x00", 100),
		"a hello": string(encode(t, &greeting{hello: Hello{Identity: identity(nodeB), Lane: LaneRaft}})),
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", a.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
			if got, _ := io.ReadAll(c); len(got) > 100 {
				t.Errorf("answered with %d bytes", len(got))
			}
			c.Close()
			expectRefused(t, a, ReasonTLS)
		})
	}
	dialed, accepted := pair(t, b, a, l)
	exchange(t, dialed, accepted)
}

// Who goes before he has said who he is, is reported as gone.
func TestGone(t *testing.T) {
	a := start(t)
	c, err := net.Dial("tcp", a.addr)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	expectRefused(t, a, ReasonGone)

	sec := shake(t, a, fromSecrets(t))
	if _, err := sec.Write([]byte{0, 99, 1, 1}); err != nil { // a part of a greeting
		t.Fatal(err)
	}
	sec.Close()
	expectRefused(t, a, ReasonGone)
}

// shake makes a handshake, and no more.
func shake(t *testing.T, n *node, c *Credentials) *tls.Conn {
	t.Helper()
	sec, err := tls.Dial("tcp", n.addr, c.client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sec.Close() })
	return sec
}

// Whoever has proved who he is, is told what is wrong with his greeting.
func TestBadGreeting(t *testing.T) {
	good := string(encode(t, &greeting{hello: Hello{Identity: identity(nodeB), Lane: LaneRaft}}))
	badLane := string(encode(t, &greeting{hello: Hello{Identity: identity(nodeB), Lane: 99}}))
	for name, test := range map[string]struct {
		greeting string
		want     Reason
	}{
		"garbage":         {"\xff\xff\xff\xff", ReasonGreeting},
		"another version": {strings.Replace(good, "\x01\x01", "\x09\x01", 1), ReasonVersion},
		"no such lane":    {badLane, ReasonLane},
	} {
		t.Run(name, func(t *testing.T) {
			a := start(t)
			a.listen(t, LaneRaft)
			sec := shake(t, a, fromSecrets(t))
			if _, err := sec.Write([]byte(test.greeting)); err != nil {
				t.Fatal(err)
			}
			g, err := readGreeting(sec)
			if err != nil || g.refusal == nil || g.refusal.Reason != test.want {
				t.Errorf("answered %+v, %v, want %s", g, err, test.want)
			}
			expectRefused(t, a, test.want)
		})
	}
}
