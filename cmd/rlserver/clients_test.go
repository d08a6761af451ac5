package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// need skips, loudly, a test whose program is missing; in CI it fails.
func need(t *testing.T, probe ...string) {
	t.Helper()
	if err := exec.Command(probe[0], probe[1:]...).Run(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%q: %v", probe, err)
		}
		t.Skipf("*** SKIPPED: %q: %v; scripts/install-test-deps installs it", probe, err)
	}
}

// makeCerts runs the script that users run.
func makeCerts(t *testing.T) (dir string) {
	t.Helper()
	need(t, "openssl", "version")
	dir = filepath.Join(t.TempDir(), "certs")
	made := execute(t, exec.Command("../../scripts/make-certs", dir, "localhost", "127.0.0.1"))
	if made.exit != 0 || made.stderr != "" {
		t.Fatalf("make-certs: %+v", made)
	}
	return dir
}

// TestClientsOverTLS: the clients that people have connect with a certificate
// and a password, and decide; without a certificate none gets in.
func TestClientsOverTLS(t *testing.T) {
	dir := makeCerts(t)
	file := func(name string) string { return filepath.Join(dir, name) }
	s := startServer(t, "--tls-addr", "127.0.0.1:0", "--tls-cert", file("server.crt"), "--tls-key", file("server.key"),
		"--tls-ca", file("ca.crt"), "--password", "app-pw")
	_, port, err := net.SplitHostPort(s.tlsAddr)
	if err != nil {
		t.Fatal(err)
	}
	ours := []string{"127.0.0.1", port, file("ca.crt"), file("client.crt"), file("client.key"), "app-pw"}
	nodeModules, err := filepath.Abs("../../scripts/clients/node/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	redisCLI := []string{"redis-cli", "-h", "127.0.0.1", "-p", port, "--tls", "--cacert", file("ca.crt")}
	withPair := append(redisCLI, "--cert", file("client.crt"), "--key", file("client.key"))
	for _, test := range []struct {
		name    string
		probe   []string
		command []string
		stdin   string
		want    string
	}{
		{
			"redis-cli",
			[]string{"redis-cli", "--version"},
			append(withPair, "--no-auth-warning", "-a", "app-pw", "RL.ALLOW", "user:7", "10", "1h"), "", "1\n10\n9\n",
		},
		{
			"redis-cli without its certificate",
			[]string{"redis-cli", "--version"},
			append(redisCLI, "--no-auth-warning", "-a", "app-pw", "RL.ALLOW", "user:7", "10", "1h"), "", "!Error",
		},
		{
			"redis-cli without a password",
			[]string{"redis-cli", "--version"},
			append(withPair, "RL.ALLOW", "user:7", "10", "1h"), "", "NOAUTH Authentication required.",
		},
		{
			"openssl s_client",
			[]string{"openssl", "version"},
			[]string{
				"openssl", "s_client", "-quiet", "-verify_return_error", "-connect", s.tlsAddr, "-CAfile", file("ca.crt"),
				"-cert", file("client.crt"), "-key", file("client.key"), "-verify_ip", "127.0.0.1",
			},
			encode("AUTH app-pw") + encode("RL.ALLOW user:7 10 1h") + encode("QUIT"), "+OK\r\n*5\r\n:1\r\n:10\r\n:9\r\n",
		},
		{
			"redis-py",
			[]string{"/usr/bin/python3", "-c", "import redis"},
			append([]string{"/usr/bin/python3", "testdata/tls.py"}, ours...), "", "1 10 9\n",
		},
		{
			"node-redis",
			[]string{"test", "-d", filepath.Join(nodeModules, "redis-6")},
			append([]string{"node", "testdata/tls.cjs"}, ours...), "", "1 10 9\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			need(t, test.probe...)
			admin := dial(t, s.addr, nil)
			admin.expect(t, "AUTH app-pw", "+OK")
			admin.expect(t, "RL.REFUND user:7 10", "")
			cmd := exec.Command(test.command[0], test.command[1:]...)
			cmd.Stdin = strings.NewReader(test.stdin)
			cmd.Env = append(os.Environ(), "NODE_PATH="+nodeModules, "REDISCLI_AUTH=")
			got := execute(t, cmd)
			if refused, ok := strings.CutPrefix(test.want, "!"); ok {
				if got.exit == 0 || !strings.Contains(got.stderr, refused) {
					t.Errorf("it came in: %+v", got)
				}
			} else if !strings.HasPrefix(got.stdout, test.want) {
				t.Errorf("got %+v, want %q", got, test.want)
			}
		})
	}
}
