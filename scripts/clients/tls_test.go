package clients

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"
)

// go-redis over TLS with a client certificate, both made by scripts/make-certs,
// decides as it does without; without a certificate it does not come in.
func TestGoRedisOverTLS(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("../make-certs", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	addr := startServer(t, "--addr", "", "--tls-addr", "127.0.0.1:0",
		"--tls-cert", file("server.crt"), "--tls-key", file("server.key"), "--tls-ca", file("ca.crt"))

	pem, err := os.ReadFile(file("ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(pem)
	pair, err := tls.LoadX509KeyPair(file("client.crt"), file("client.key"))
	if err != nil {
		t.Fatal(err)
	}
	for _, protocol := range []int{2, 3} {
		client := redis.NewClient(&redis.Options{
			Addr: addr, Protocol: protocol,
			TLSConfig: &tls.Config{RootCAs: authorities, Certificates: []tls.Certificate{pair}},
		})
		decision, err := client.Do(t.Context(), "RL.ALLOW", "tls", 10, "1h").Int64Slice()
		if want := int64(12 - 1 - protocol); err != nil || len(decision) != 5 || decision[0] != 1 || decision[2] != want {
			t.Errorf("protocol %d: %v, %v, want %d to remain", protocol, decision, err, want)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
	stranger := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, TLSConfig: &tls.Config{RootCAs: authorities}})
	if reply, err := stranger.Do(t.Context(), "RL.ALLOW", "tls", 10, "1h").Result(); err == nil {
		t.Errorf("without a certificate: %v", reply)
	}
	if err := stranger.Close(); err != nil {
		t.Error(err)
	}
}
