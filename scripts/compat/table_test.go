package compat

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rlserver/rlserver/commands"
)

// TestTable compares what COMMAND INFO says of every command that both have:
// clients find keys and choose nodes by it.
func TestTable(t *testing.T) {
	redis, ours := startRedis(t).dial(t), startServer(t).dial(t)
	known := 0
	for _, name := range namesToCompare() {
		want, got := describeCommand(t, redis, name), describeCommand(t, ours, name)
		if got == "" {
			t.Errorf("%s is not in COMMAND INFO", name)
		}
		if want == "" {
			continue // newer than the reference
		}
		known++
		if why := tableDiffers()[name]; (why != "") != (want != got) {
			t.Errorf("%s: redis %s, rlserver %s; differs: %s", name, want, got, why)
		}
	}
	if known < 80 {
		t.Errorf("only %d commands were compared", known)
	}
}

// tableDiffers says where the descriptions are not the same, and why.
func tableDiffers() map[string]string {
	return map[string]string{
		"pubsub|help":                   "it is a command of its group, like the others",
		"client|no-evict":               "it changes nothing here, so that it needs no right",
		"cluster|count-failure-reports": "an error, which needs no right",
		"cluster|replicas":              "an error, which needs no right",
		"cluster|slaves":                "an error, which needs no right",
	}
}

func namesToCompare() (names []string) {
	for _, c := range commands.Table() {
		if c.Group == commands.GroupDecision {
			continue
		}
		names = append(names, c.Name)
		names = append(names, c.Aliases...)
		for _, sub := range c.Sub {
			names = append(names, c.Name+"|"+sub.Name)
		}
	}
	return names
}

// describeCommand is arity, keys and the flags that clients look at; "" if
// the command is unknown.
func describeCommand(t *testing.T, conn net.Conn, name string) string {
	t.Helper()
	fmt.Fprintf(conn, "COMMAND INFO %s\r\n", name)
	text, err := readReply(bufio.NewReader(conn))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text, "\n")
	if strings.HasSuffix(lines[1], "nil") {
		return ""
	}
	count, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(lines[4]), "* "))
	if err != nil {
		t.Fatal(err)
	}
	var flags []string
	for _, line := range lines[5 : 5+count] {
		if flag := strings.Trim(line, " +\""); slices.Contains(flagsToCompare(), flag) {
			flags = append(flags, flag)
		}
	}
	slices.Sort(flags)
	words := []string{number(lines[3])}
	for _, line := range lines[5+count : 8+count] {
		words = append(words, number(line))
	}
	return strings.Join(append(words, flags...), " ")
}

func number(line string) string { return strings.Trim(line, " :\"") }

func flagsToCompare() []string {
	return []string{"write", "readonly", "admin", "no_auth", "pubsub", "movablekeys"}
}
