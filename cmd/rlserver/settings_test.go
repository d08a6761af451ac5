package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// write makes a file in a folder of the test's own.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func environ(variables map[string]string) func(string) string {
	return func(name string) string { return variables[name] }
}

// The command line wins over the environment, the environment over the file.
func TestPrecedence(t *testing.T) {
	file := write(t, "rlserver.conf", "# sizes\r\nmax-memory 2mb\nmax-key 2\nmax-log 2\r\n\nsweep-idle 2s # short\n")
	cfg, err := parseConfig([]string{"--max-memory=4mb", "-max-key", "4"}, environ(map[string]string{
		"RLSERVER_CONFIG":     file,
		"RLSERVER_MAX_MEMORY": "3mb",
		"RLSERVER_MAX_LOG":    "3",
		"RLSERVER_ADMIN_ADDR": "",
		"RLSERVER_PORT":       "tcp://10.0.0.1:7379", // as Kubernetes sets it for a service of this name
	}), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	got := []any{cfg.maxMemory.String(), cfg.maxKey, cfg.maxLog, cfg.sweepIdle, cfg.adminAddr, cfg.addr}
	want := []any{"4mb", 4, int64(3), 2 * time.Second, "127.0.0.1:8379", "127.0.0.1:7379"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// One start shows every mistake of every source, and no word that may be a
// secret.
func TestEveryMistake(t *testing.T) {
	file := write(t, "rlserver.conf", "max-key many\nmax-key 3\nnosuch 1\nversion true\nmax-output -1\n")
	_, err := parseConfig([]string{
		"hunter2", "--max-log", "x", "--nosuch", "hunter2", "--max-memory=1kb", "--addr", "here", "--", "-", "--log-format", "xml",
		"--tls-addr", "0.0.0.0:1", "--acl-file", "/nonexistent/acl", "--password", "", "--admin-password", "hunter2",
		"--admin-password-file", "/nonexistent/secret", "--admin-tls", "--max-args", "0", "--log-level",
	}, environ(map[string]string{"RLSERVER_CONFIG": file, "RLSERVER_SWEEP_IDLE": "soon", "RLSERVER_MAX_ARGS": "x"}), io.Discard)
	if err == nil {
		t.Fatal("no error")
	}
	want := []string{
		"unexpected argument: word 1 behind rlserver is no flag",
		`invalid value "x" for flag -max-log: parse error`,
		"flag provided but not defined: -nosuch",
		"unexpected argument: word 10 behind rlserver is no flag",
		"flag needs an argument: -log-level",
		`invalid value "soon" for RLSERVER_SWEEP_IDLE: want a time such as 1500ms, 1s, 5m or 1h`,
		`invalid value "many" for ` + file + `: max-key: parse error`,
		file + ": max-key stands twice",
		file + `: there is no setting "nosuch"`,
		file + `: there is no setting "version"`,
		`invalid value "-1" for ` + file + `: max-output: want a number of bytes such as 1048576, 64kb, 1mb or 2gb`,
		"--max-memory must be at least 1mb, got 1kb",
		`--log-format must be text or json, got "xml"`,
		"max args must be 16 to 536870912, got 0",
		"--password and --acl-file exclude each other: the file has the passwords of its users",
		"--password: the password is empty",
		"--admin-password and --admin-password-file exclude each other",
		"--admin-password and --acl-file exclude each other: the file has the passwords of its users",
		"open /nonexistent/acl: no such file or directory",
		`--addr "here" is no host:port`,
		"--tls-addr and --admin-tls need --tls-cert and --tls-key",
		"rlserver --help lists what can be set",
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestHelpAndVersion(t *testing.T) {
	for _, test := range []struct {
		args           string
		exit           int
		stdout, stderr string
	}{
		{"--version", 0, "rlserver " + version + "\n", ""},
		{"--version --addr nonsense", 0, "rlserver " + version + "\n", ""},
		{"--help", 0, "(default \"127.0.0.1:7379\")", ""},
		{"--nosuch -h", 0, "RLSERVER_MAX_MEMORY", ""},
		{"--nosuch", 1, "", "rlserver: flag provided but not defined: -nosuch\nrlserver --help lists what can be set\n"},
		{"docs", 1, "", "rlserver: usage: rlserver docs DIR\n"},
	} {
		t.Run(test.args, func(t *testing.T) {
			got := execute(t, serverCommand(t, strings.Fields(test.args)...))
			if got.exit != test.exit || !strings.Contains(got.stdout, test.stdout) || got.stderr != test.stderr {
				t.Errorf("got %+v", got)
			}
		})
	}
}
