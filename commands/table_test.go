package commands

import (
	"slices"
	"strings"
	"testing"
)

// eachRecord visits every record, subcommands included.
func eachRecord(visit func(full string, c *Command)) {
	table := Table()
	for i := range table {
		c := &table[i]
		visit(c.Name, c)
		for j := range c.Sub {
			visit(c.Name+"|"+c.Sub[j].Name, &c.Sub[j])
		}
	}
}

func TestRecordsAreComplete(t *testing.T) {
	groups := []Group{
		GroupDecision, GroupPolicies, GroupNodes, GroupConnection, GroupTransactions, GroupGeneric, GroupServer, GroupCluster, GroupPubSub,
	}
	categories := []Category{CategoryDecide, CategoryRead, CategoryAdmin, CategoryConnection}
	eachRecord(func(full string, c *Command) {
		isSub := strings.Contains(full, "|")
		for what, wrong := range map[string]bool{
			"no summary of one sentence": !strings.HasSuffix(c.Summary, ".") || c.Summary[0] < 'A' || c.Summary[0] > 'Z',
			"no since":                   c.Since == "",
			"no complexity":              c.Complexity == "",
			"unknown category":           !slices.Contains(categories, c.Category),
			"unknown group":              !isSub && !slices.Contains(groups, c.Group),
			"nothing to run":             c.Run == nil && len(c.Sub) == 0,
			"no reply":                   c.Run != nil && c.Reply == "",
			"reads and writes":           c.Flags&FlagWrite != 0 && c.Flags&FlagReadOnly != 0,
			"writes, for readers":        c.Flags&FlagWrite != 0 && (c.Category == CategoryRead || c.Category == CategoryConnection),
			"containers in containers":   isSub && len(c.Sub) > 0,
			"a container with keys":      c.Run == nil && c.Keys.First != 0,
		} {
			if wrong {
				t.Errorf("%s: %s", full, what)
			}
		}
	})
}

// TestKeysAreArguments: where COMMAND says a key is, the syntax has one, or
// clients send the command to a node that does not own the key.
func TestKeysAreArguments(t *testing.T) {
	eachRecord(func(full string, c *Command) {
		words := 1 + strings.Count(full, "|")
		first, last := 0, 0
		for i, a := range c.Args {
			if a.Type != TypeKey {
				continue
			}
			if first == 0 {
				first = words + i
			}
			if last = words + i; a.Multiple {
				last = -1
			}
		}
		if c.Keys.First != first || c.Keys.Last != last || (first != 0) != (c.Keys.Step == 1) {
			t.Errorf("%s: keys at %+v, but the arguments have them at %d to %d", full, c.Keys, first, last)
		}
	})
}

// TestNamesAreFound: in any case, each once, and within what lookup reads.
func TestNamesAreFound(t *testing.T) {
	seen := map[string]bool{}
	eachRecord(func(full string, c *Command) {
		prefix, _, isSub := strings.Cut(full, "|")
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			if name != strings.ToLower(name) || len(name) == 0 || len(name) > 32 || strings.ContainsAny(name, " |") {
				t.Errorf("%s: bad name %q", full, name)
			}
			if isSub {
				name = prefix + "|" + name
			}
			if seen[name] {
				t.Errorf("%s stands twice", name)
			}
			seen[name] = true
		}
	})
	d := &Dispatcher{table: Table()}
	d.byName = d.compile(d.table, nil)
	for name := range seen {
		var args [][]byte
		for word := range strings.SplitSeq(strings.ToUpper(name), "|") {
			args = append(args, []byte(word))
		}
		if e, err := d.find(args); err != nil || e.full != name {
			t.Errorf("%s is not found: %v", name, err)
		}
	}
}

func TestArity(t *testing.T) {
	arg := Arg{Name: "a", Type: TypeString}
	optional := Arg{Name: "o", Type: TypeString, Optional: true}
	many := Arg{Name: "m", Type: TypeString, Multiple: true}
	token := Arg{Name: "t", Type: TypeToken, Token: "T"}
	option := Arg{Name: "x", Type: TypeInteger, Token: "X"}
	choice := Arg{Name: "c", Type: TypeOneOf, Token: "C", Choices: []string{"A", "B"}}
	for _, test := range []struct {
		args   []Arg
		arity  int
		syntax string
	}{
		{nil, 1, "P"},
		{[]Arg{arg}, 2, "P a"},
		{[]Arg{arg, optional}, -2, "P a [o]"},
		{[]Arg{many}, -2, "P m [m ...]"},
		{[]Arg{arg, token}, 3, "P a T"},
		{[]Arg{option}, 3, "P X x"},
		{[]Arg{choice}, 3, "P C A|B"},
		{[]Arg{arg, {Name: "o", Type: TypeString, Token: "O", Optional: true, Multiple: true}}, -2, "P a [O o [O o ...]]"},
	} {
		c := Command{Name: "p", Args: test.args, Run: func(*Call) error { return nil }}
		if got := c.arity(1); got != test.arity {
			t.Errorf("%s: arity %d, want %d", test.syntax, got, test.arity)
		}
		if got := c.syntax(""); got != test.syntax {
			t.Errorf("syntax %q, want %q", got, test.syntax)
		}
	}
	for arity, fits := range map[int][]int{2: {2}, -2: {2, 3, 1000}} {
		for _, words := range fits {
			if !arityFits(arity, words) {
				t.Errorf("%d words do not fit %d", words, arity)
			}
		}
		if arityFits(arity, 1) || arity > 0 && arityFits(arity, 3) {
			t.Errorf("anything fits %d", arity)
		}
	}
}

func TestConfigNamesEverythingMissing(t *testing.T) {
	_, err := New(Config{})
	if err == nil {
		t.Fatal("a dispatcher without anything")
	}
	for _, part := range []string{"buckets", "ownership", "server", "users", "clock", "longest key", "sliding-log"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not reported: %v", part, err)
		}
	}
}

func TestHumanBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0B", 1023: "1023B", 1024: "1.00K", 1536: "1.50K", 1 << 20: "1.00M", 5 << 30: "5.00G", 1 << 42: "4.00T", 1 << 52: "4096.00T"} {
		if got := humanBytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestPort(t *testing.T) {
	for addr, want := range map[string]int64{"127.0.0.1:7379": 7379, "[::1]:80": 80, ":1": 1, "": 0, "host": 0, "host:name": 0, "h:70000": 0} {
		if got := port(addr); got != want {
			t.Errorf("%q: %d, want %d", addr, got, want)
		}
	}
}

func TestRatePerSecond(t *testing.T) {
	var r rate
	for _, step := range []struct {
		at          int64
		count, want uint64
	}{
		{1 * second, 100, 0},            // nothing to compare with
		{1*second + 1, 200, 0},          // too soon to say
		{3 * second, 300, 100},          // 200 in 2 s
		{3*second + 1, 400, 100},        // too soon: as before
		{4*second + second/2, 450, 100}, // 150 in 1.5 s
		{4*second + second/2, 0, 0},     // the counters were reset
		{5*second + second/2, 7, 7},
	} {
		if got := r.perSecond(step.at, step.count); got != step.want {
			t.Errorf("at %d: %d, want %d", step.at, got, step.want)
		}
	}
}
