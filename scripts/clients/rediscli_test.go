package clients

import (
	"bufio"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// redisTool is redis-cli or redis-benchmark, aimed at a server of its own.
func redisTool(t *testing.T, name string) (aimed []string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, name, byApt+"redis-tools")
	}
	t.Log(strings.TrimSpace(succeed(t, path, "--version")))
	host, port := split(t, startServer(t))
	return []string{path, "-h", host, "-p", port}
}

// toolCase is a call of a tool. Its arguments are separated by blanks; what
// it prints is matched as a whole by regular expressions.
type toolCase struct {
	name   string
	args   string
	stdin  string
	want   string
	stderr string
	exit   int
}

func (tc toolCase) test(t *testing.T, aimed []string) {
	t.Helper()
	r := execute(t, tc.stdin, aimed[0], slices.Concat(aimed[1:], strings.Fields(tc.args))...)
	if r.exit != tc.exit {
		t.Errorf("exit code %d, want %d", r.exit, tc.exit)
	}
	if !regexp.MustCompile(`^(?s:` + tc.want + `)$`).MatchString(r.stdout) {
		t.Errorf("stdout %q, want %q", r.stdout, tc.want)
	}
	if !regexp.MustCompile(`^(?s:` + tc.stderr + `)$`).MatchString(r.stderr) {
		t.Errorf("stderr %q, want %q", r.stderr, tc.stderr)
	}
}

// TestRedisCLI runs its cases in order on one server: those that look at keys
// see what was asked for before.
func TestRedisCLI(t *testing.T) {
	t.Parallel()
	aimed := redisTool(t, "redis-cli")
	for _, tc := range []toolCase{
		{name: "allowed", args: "RL.ALLOW a 2 1h", want: `1\n2\n1\n0\n1800000\n`},
		{name: "allowed in RESP3", args: "-3 RL.ALLOW a 2 1h", want: `1\n2\n0\n0\n3[56]\d{5}\n`},
		{name: "a denial is no error", args: "-e RL.ALLOW a 2 1h", want: `0\n2\n0\n1[78]\d{5}\n3[56]\d{5}\n`},
		{name: "an error is one", args: "-e RL.ALLOW a 2 1x", stderr: `ERR window must be .*`, exit: 1},
		{name: "allowed by throttle", args: "CL.THROTTLE b 0 1 3600", want: `0\n1\n0\n-1\n3600\n`},
		{name: "denied by throttle", args: "CL.THROTTLE b 0 1 3600", want: `1\n1\n0\n3[56]\d\d\n3[56]\d\d\n`},
		{name: "formatted", args: "--no-raw RL.ALLOW a 2 1h PEEK", want: `1\) \(integer\) 0\n2\) \(integer\) 2\n.*5\) \(integer\) \d+\n`},
		{name: "map as JSON", args: "-3 --json RL.INSPECT a", want: `\{"key":"a",.*"algorithm":"token-bucket","limit":2,.*\}\n`},
		{name: "null as JSON", args: "-3 --json RL.INSPECT nobody", want: `null\n`},
		{name: "help", args: "RL.HELP", want: `.*\nRL\.ALLOW key limit window .*\nCL\.THROTTLE .*`},
		{name: "help on a command", args: "RL.HELP rl.allow", want: `.*RL\.ALLOW key limit window .*COST n.*`},
		{name: "the only database", args: "-n 0 PING", want: `PONG\n`},
		{name: "repeated", args: "-r 3 RL.ALLOW c 2 1h COST 0", want: `(1\n2\n2\n0\n0\n){3}`},
		{name: "an argument from stdin", args: "-x ECHO", stdin: "a\x00b", want: `a\x00b\n`},
		{
			// It asks for COMMAND DOCS before it reads.
			name: "commands from stdin", stdin: "RL.ALLOW d 1 1h\nRL.ALLOW d 1 1h PEEK\n",
			want: `1\n1\n0\n0\n3600000\n0\n1\n0\n3[56]\d{5}\n3[56]\d{5}\n`,
		},
		{
			name: "a transaction from stdin", stdin: "MULTI\nRL.ALLOW d 1 1h\nPING\nEXEC\n",
			want: `OK\nQUEUED\nQUEUED\n0\n1\n0\n3[56]\d{5}\n3[56]\d{5}\nPONG\n`,
		},
		{
			name: "pipe", args: "--pipe", stdin: strings.Repeat("*4\r\n$8\r\nRL.ALLOW\r\n$1\r\ne\r\n$1\r\n2\r\n$2\r\n1h\r\n", 1000),
			want: `.*errors: 0, replies: 1000\n`,
		},
		{
			name: "pipe with an error", args: "--pipe", stdin: "NOSUCH\r\nPING\r\n",
			want: `.*errors: 1, replies: 2\n`, stderr: `ERR unknown command 'NOSUCH'.*`, exit: 1,
		},
		{name: "scan", args: "--scan", want: `([abde]\n){4}`},
		{name: "scan with a pattern", args: "--scan --pattern [ab]", want: `([ab]\n){2}`},
		{name: "big keys", args: "--bigkeys", want: `.*Sampled 4 keys in the keyspace!\n.*\n4 ratelimits .*`},
		{
			name: "memory of keys", args: "--memkeys",
			want: `.*Biggest ratelimit found '"[abde]"' has \d+ bytes\n.*\n4 ratelimits with \d+ bytes .*`,
		},
		{name: "latency", args: "--latency -i 0.05", want: `\d+ \d+ \d+\.\d+ \d+\n`},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, aimed) })
	}
}

// TestRedisCLIStat reads the table that redis-cli prints until it is killed.
func TestRedisCLIStat(t *testing.T) {
	t.Parallel()
	aimed := redisTool(t, "redis-cli")
	succeed(t, aimed[0], append(aimed[1:], "RL.ALLOW", "a", "2", "1h")...)

	cmd := exec.Command(aimed[0], append(aimed[1:], "--stat", "-i", "0.01")...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, cmd)
	// Without a deadline a redis-cli that says nothing would stay.
	defer time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() }).Stop()

	line := regexp.MustCompile(`^1 +\d+\.\d+[KM] +\d+ +0 +\d+ \(\+\d+\) +\d+ *$`) // keys, memory, clients, blocked, requests, connections
	lines := bufio.NewScanner(stdout)
	var seen []string
	for lines.Scan() {
		if line.MatchString(lines.Text()) {
			return
		}
		seen = append(seen, lines.Text())
	}
	t.Errorf("no line of numbers in\n%s", strings.Join(seen, "\n"))
}
