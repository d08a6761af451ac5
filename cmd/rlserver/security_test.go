package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlserver/rlserver/commands"
)

// blocks are the fenced blocks of a kind in docs/security.md.
func blocks(t *testing.T, kind string) (found []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```"+kind+"\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		found = append(found, m[1])
	}
	return found
}

func TestDocumentedACL(t *testing.T) {
	examples := blocks(t, "acl")
	if len(examples) != 1 {
		t.Fatalf("%d examples", len(examples))
	}
	users, err := commands.ParseACL(strings.NewReader(examples[0]))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"user gateway on (password) ~user:* ~ip:* +@decide",
		"user grafana on (password) ~* +@read",
		"user ops on (password) ~* +@decide +@read +@admin",
	}
	if diff := cmp.Diff(want, users.List()); diff != "" {
		t.Error(diff)
	}
	for user, password := range map[string]string{"gateway": "battery-staple", "ops": "secret"} {
		if _, ok := users.Authenticate([]byte(user), []byte(password)); !ok {
			t.Errorf("%s is not let in with %s", user, password)
		}
	}
}

// TestDocumentedSteps runs what docs/security.md tells to type, line by line,
// with ports that are free instead of its own.
func TestDocumentedSteps(t *testing.T) {
	for _, tool := range []string{"openssl version", "redis-cli --version", "curl --version"} {
		need(t, strings.Fields(tool)...)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var server *serverProcess
	ran := 0
	for line := range strings.Lines(strings.Join(blocks(t, "sh"), "")) {
		ran++
		line = strings.TrimSpace(line)
		switch words := strings.Fields(line); words[0] {
		case "rlserver":
			if server != nil {
				server.stop(t)
			}
			server = startDocumented(t, dir, words[1:])
			continue
		case "kill":
			server.signal(t, syscall.SIGHUP)
			server.expectLog(t, "users reloaded")
			continue
		}
		if server != nil {
			for port, addr := range map[string]string{"7379": server.addr, "7380": server.tlsAddr, "8379": server.atHTTP} {
				line = strings.ReplaceAll(line, port, addr[strings.LastIndex(addr, ":")+1:])
			}
		}
		cmd := exec.Command("bash", "-euc", strings.ReplaceAll(line, "scripts/", root+"/scripts/"))
		cmd.Dir = dir
		got := execute(t, cmd)
		if got.exit != 0 || got.stderr != "" {
			t.Fatalf("%s: %+v", line, got)
		}
		for command, want := range map[string]string{"RL.ALLOW": "1\n10\n9\n", "RL.RESET": "1\n", "curl": "ok\n"} {
			if strings.Contains(line, command) && !strings.HasPrefix(got.stdout, want) {
				t.Errorf("%s: %+v", line, got)
			}
		}
	}
	const steps = 13
	if ran != steps {
		t.Errorf("%d lines were run; expected %d", ran, steps)
	}
}

// startDocumented starts the server as a page says, on free ports.
func startDocumented(t *testing.T, dir string, words []string) *serverProcess {
	t.Helper()
	args := []string{"--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--log-format", "json"}
	port := regexp.MustCompile(`:(7379|7380|8379)$`)
	for _, word := range words {
		args = append(args, port.ReplaceAllString(word, ":0"))
	}
	cmd := serverCommand(t, args...)
	cmd.Dir = dir
	return startCommand(t, cmd)
}

// The generated page is not stale.
func TestConfigurationPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := configurationPage(&want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(page)); diff != "" {
		t.Errorf("run make docs: %s", diff)
	}
}
