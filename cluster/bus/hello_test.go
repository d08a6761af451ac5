package bus

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	nodeA = strings.Repeat("a0", nodeBytes)
	nodeB = strings.Repeat("b1", nodeBytes)
)

func greetings() map[string]*greeting {
	id := Identity{Cluster: "prod", Node: nodeA, Name: "n1", Level: 3}
	longest := Identity{Cluster: strings.Repeat("c", MaxCluster), Node: nodeB, Name: strings.Repeat("n", MaxName), Level: 1<<32 - 1}
	return map[string]*greeting{
		"hello":           {hello: Hello{Identity: id, Lane: LaneDecide}},
		"hello to a node": {hello: Hello{Identity: id, Lane: LaneRaft}, wanted: nodeB},
		"no cluster yet":  {hello: Hello{Identity: Identity{Node: nodeA, Name: "n"}, Lane: LaneControl}},
		"longest":         {hello: Hello{Identity: longest, Lane: 255}, wanted: nodeA},
		"refusal":         {refusal: &RefusedError{Reason: ReasonRole, Detail: "no", ByPeer: true}},
		"silent refusal":  {refusal: &RefusedError{Reason: 99, ByPeer: true}},
	}
}

func encode(tb testing.TB, g *greeting) []byte {
	tb.Helper()
	b, err := appendGreeting(nil, g)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestGreeting(t *testing.T) {
	for name, g := range greetings() {
		t.Run(name, func(t *testing.T) {
			wire := encode(t, g)
			r := bytes.NewReader(append(wire, "next"...))
			got, err := readGreeting(r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(g, got, cmp.AllowUnexported(greeting{})); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
			if r.Len() != len("next") {
				t.Errorf("%d bytes left, want those of what follows", r.Len())
			}
			for cut := range len(wire) {
				if _, err := readGreeting(bytes.NewReader(wire[:cut])); err == nil {
					t.Errorf("accepted when cut after %d bytes", cut)
				}
			}
		})
	}
}

// The bytes of version 1 stay.
func TestGreetingGolden(t *testing.T) {
	const want = "\x00\x38\x01\x01\x01\x00\x00\x00\x03\x01" +
		"\xb1\xb1\xb1\xb1\xb1\xb1\xb1\xb1\xb1\xb1\xb1\xb1\xb1\xb1\xb1\xb1\xb1\xb1\xb1\xb1" +
		"\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0" +
		"\x04prod\x02n1"
	if got := string(encode(t, greetings()["hello to a node"])); got != want {
		t.Errorf("hello: got %q", got)
	}
	if got := string(encode(t, greetings()["refusal"])); got != "\x00\x05\x01\x02\x05no" {
		t.Errorf("refusal: got %q", got)
	}
}

func TestGreetingMalformed(t *testing.T) {
	hello := string(encode(t, greetings()["hello"]))
	for name, test := range map[string]struct {
		wire string
		want error
	}{
		"too long":           {"\x02\x01" + strings.Repeat("x", 0x201), errGreeting},
		"too short":          {"\x00\x02\x01\x01", errGreeting},
		"unknown kind":       {"\x00\x03\x01\x07\x00", errGreeting},
		"another version":    {strings.Replace(hello, "\x01\x01\x04", "\x02\x01\x04", 1), errVersion},
		"bytes left over":    {"\x00\x25" + hello[2:] + "x", errGreeting},
		"HTTP":               {"GET / HTTP/1.1\r\n\r\n", errGreeting},
		"a long refusal":     {"\x00\xff\x01\x02\x05" + strings.Repeat("x", 0xff-3), errGreeting},
		"a name of no bytes": {"\x00\x1d\x01\x01\x01\x00\x00\x00\x03\x00" + strings.Repeat("\xa0", nodeBytes) + "\x00\x00", errGreeting},
	} {
		t.Run(name, func(t *testing.T) {
			if g, err := readGreeting(strings.NewReader(test.wire)); !errors.Is(err, test.want) {
				t.Errorf("got %+v, %v, want %v", g, err, test.want)
			}
		})
	}
}

func TestIdentityValidate(t *testing.T) {
	good := Identity{Node: nodeA, Name: "n"}
	for name, change := range map[string]func(*Identity){
		"cluster":    func(id *Identity) { id.Cluster = strings.Repeat("c", MaxCluster+1) },
		"no node":    func(id *Identity) { id.Node = "" },
		"short node": func(id *Identity) { id.Node = nodeA[1:] },
		"upper case": func(id *Identity) { id.Node = strings.ToUpper(nodeA) },
		"no hex":     func(id *Identity) { id.Node = strings.Repeat("g", 40) },
		"no name":    func(id *Identity) { id.Name = "" },
		"long name":  func(id *Identity) { id.Name = strings.Repeat("n", MaxName+1) },
	} {
		id := good
		change(&id)
		if id.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}

// What reads as a greeting is written as the same bytes.
func FuzzGreeting(f *testing.F) {
	for _, g := range greetings() {
		f.Add(encode(f, g))
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		r := bytes.NewReader(wire)
		g, err := readGreeting(r)
		if err != nil {
			return
		}
		read := wire[:len(wire)-r.Len()]
		if g.refusal != nil {
			read = bytes.Clone(read)
			read[2] = Version // a refusal of any version is read
		}
		if again := encode(t, g); !bytes.Equal(read, again) {
			t.Errorf("%q was written as %q", read, again)
		}
	})
}
