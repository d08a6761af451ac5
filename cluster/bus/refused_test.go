package bus

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
)

// A dialer judges the answer, too.
func TestAnswers(t *testing.T) {
	answer := func(change func(*greeting)) string {
		g := &greeting{hello: Hello{Identity: identity(nodeA), Lane: LaneRaft}}
		change(g)
		return string(encode(t, g))
	}
	good := answer(func(*greeting) {})
	for name, test := range map[string]struct {
		answer string
		want   Reason
		byPeer bool
	}{
		"another cluster": {answer(func(g *greeting) { g.hello.Cluster = "test" }), ReasonCluster, false},
		"another node":    {answer(func(g *greeting) { g.hello.Node = nodeB }), ReasonNode, false},
		"another lane":    {answer(func(g *greeting) { g.hello.Lane = LaneLease }), ReasonLane, false},
		"another version": {strings.Replace(good, "\x01\x01", "\x02\x01", 1), ReasonVersion, false},
		"garbage":         {"HTTP/1.1 400 Bad Request\r\n", ReasonGreeting, false},
		"a refusal":       {answer(func(g *greeting) { g.refusal = &RefusedError{Reason: 50} }), 50, true},
		"a later refusal": {"\x00\x05\x09\x02\x33no", 51, true},
	} {
		t.Run(name, func(t *testing.T) {
			ln, err := tls.Listen("tcp", "127.0.0.1:0", fromSecrets(t).server)
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			said := make(chan error, 1)
			go func() { said <- answerOnce(ln, test.answer) }()
			_, err = other(t).Dial(t.Context(), Target{Node: nodeA, Addr: ln.Addr().String()}, LaneRaft)
			expectReason(t, err, test.want, test.byPeer)
			if err := next(t, said); err != nil {
				t.Error(err)
			}
		})
	}
}

// A listener that has the key and does not speak the protocol is of another
// service.
func TestListenerWithoutProtocol(t *testing.T) {
	for name, c := range map[string]*Credentials{
		"secret":      fromSecrets(t),
		"certificate": newAuthority(t).credentials(t, memberCert()),
	} {
		t.Run(name, func(t *testing.T) {
			cfg := c.server.Clone()
			cfg.GetConfigForClient, cfg.NextProtos, cfg.VerifyConnection = nil, nil, nil
			ln, err := tls.Listen("tcp", "127.0.0.1:0", cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			said := make(chan error, 1)
			go func() { said <- answerOnce(ln, "") }()
			_, err = other(t, with(c)).Dial(t.Context(), Target{Addr: ln.Addr().String()}, LaneRaft)
			if !errors.Is(err, ErrStranger) {
				t.Errorf("got %v, want %v", err, ErrStranger)
			}
			if err := next(t, said); err == nil {
				t.Error("it was greeted")
			}
		})
	}
}

// answerOnce reads one greeting and answers with bytes.
func answerOnce(ln net.Listener, answer string) error {
	c, err := ln.Accept()
	if err != nil {
		return err
	}
	if _, err := readGreeting(c); err != nil {
		return err
	}
	_, err = c.Write([]byte(answer))
	return errors.Join(err, c.Close())
}

// Names label metrics: each is one of its own.
func TestNames(t *testing.T) {
	names := make(map[string]bool)
	for r := range Reason(200) {
		if !strings.HasPrefix(r.String(), "reason ") {
			names[r.String()] = true
		}
	}
	if len(names) != 13 {
		t.Errorf("%d reasons: %v", len(names), names)
	}
	for l := range Lane(200) {
		if l.known() != !strings.HasPrefix(l.String(), "lane ") {
			t.Errorf("%s: known: %t", l, l.known())
		}
	}
	if RoleMember.String() != "member" || RoleGateway.String() != "gateway" {
		t.Error("a role has another name")
	}
	for l := range Lane(200) {
		if Role(0).May(l) || Role(3).May(l) {
			t.Errorf("a role that does not exist may open %s", l)
		}
	}
}

// What is told of a refusal names its reason and quotes what the peer says.
func TestRefusedError(t *testing.T) {
	err := &RefusedError{Reason: ReasonCluster, Detail: "a\nb", ByPeer: true}
	if got, want := err.Error(), `bus: refused by the peer (cluster): "a\nb"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestParseTarget(t *testing.T) {
	for text, want := range map[string]Target{
		"host:1":           {Addr: "host:1"},
		nodeA + "@host:1":  {Node: nodeA, Addr: "host:1"},
		nodeA + "@[::1]:1": {Node: nodeA, Addr: "[::1]:1"},
	} {
		if got := ParseTarget(text); got != want || got.String() != text {
			t.Errorf("%s was read as %+v and written as %s", text, got, got)
		}
	}
}

func TestListenerAddr(t *testing.T) {
	l := newNode(t, func(c *Config) { c.Announce = "example.com:17379" }).listen(t, LaneRaft)
	if got := l.Addr(); got.Network() != "tcp" || got.String() != "example.com:17379" {
		t.Errorf("got %s %s", got.Network(), got)
	}
}
