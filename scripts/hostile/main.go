// Command hostile opens connections that cost a server something and give it
// nothing, and tells what they cost: `go run ./scripts/hostile` builds and
// starts rlserver, and prints the table of docs/benchmarks.md. While each kind
// of them is there, an honest client goes on asking.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(1)
	}
}

// crowd is one kind of connection.
type crowd struct {
	name  string
	count int
	tls   bool // to the TLS port
	send  string
}

func crowds() []crowd {
	pipeline := strings.Repeat("*2\r\n$4\r\nECHO\r\n$4096\r\n"+strings.Repeat("x", 4096)+"\r\n", 256)
	return []crowd{
		{"none", 0, false, ""},
		{"idle connections", 10_000, false, ""},
		{"half a command", 5_000, false, "*4\r\n$8\r\nRL.ALLOW\r\n$4\r\nhalf"},
		{"slow readers, 1 MiB of replies each", 200, false, pipeline},
		{"TLS handshakes that stop half way", 1_000, true, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"},
		{"HTTP", 500, false, "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"},
		{"TLS to the plain port", 500, false, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n"},
		{"SSH", 500, false, "SSH-2.0-OpenSSH_9.2\r\n"},
		{"a bulk of 9223372036854775807 bytes", 500, false, "*1\r\n$9223372036854775807\r\n"},
	}
}

// figures are what the server holds at one time.
type figures struct{ rss, descriptors, goroutines float64 }

func run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "rlserver-hostile-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is a temporary one
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, "rlserver"), "./cmd/rlserver").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	if err := makePair(dir); err != nil {
		return err
	}
	fmt.Fprint(out, "| connections | | memory of each | an honest client's decisions: p50 | p99 | worst | left behind: goroutines, descriptors |\n|---|---|---|---|---|---|---|\n")
	for _, c := range crowds() {
		line, err := beset(ctx, dir, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Fprintln(out, line)
	}
	return nil
}

// beset sends a crowd to a server of its own, without what the one before it
// has saved, and returns its line.
func beset(ctx context.Context, dir string, c crowd) (string, error) {
	s, err := start(ctx, dir)
	if err != nil {
		return "", err
	}
	defer s.kill()
	s.ask(ctx)
	if _, err := s.figures(ctx); err != nil { // opens the connection that is kept for the next
		return "", err
	}
	base, err := s.figures(ctx)
	if err != nil {
		return "", err
	}
	conns, err := s.open(c)
	defer func() {
		for _, conn := range conns {
			_ = conn.Close() // it may be closed already
		}
	}()
	if err != nil {
		return "", err
	}
	waits := s.ask(ctx)
	held, err := s.figures(ctx)
	if err != nil {
		return "", err
	}
	for _, conn := range conns {
		_ = conn.Close() // what matters is the server's side
	}
	back, err := s.settled(ctx, base)
	if err != nil {
		return "", err
	}
	each := "-"
	if c.count > 0 {
		each = fmt.Sprintf("%.1f KiB", max(held.rss-base.rss, 0)/1024/float64(c.count))
	}
	return fmt.Sprintf("| %s | %d | %s | %s | %+.0f, %+.0f |", c.name, c.count, each, waits,
		back.goroutines-base.goroutines, back.descriptors-base.descriptors), nil
}

// server is the rlserver that is beset.
type server struct {
	cmd                *exec.Cmd
	addr, secure, side string
}

func start(ctx context.Context, dir string) (*server, error) {
	data, err := os.MkdirTemp(dir, "data-")
	if err != nil {
		return nil, err
	}
	s := &server{addr: freeAddr(), secure: freeAddr(), side: freeAddr()}
	s.cmd = exec.CommandContext(ctx, filepath.Join(dir, "rlserver"), "--dir", data, "--addr", s.addr, "--tls-addr", s.secure, "--admin-addr", s.side, "--max-clients", "12000",
		"--tls-cert", filepath.Join(dir, "cert.pem"), "--tls-key", filepath.Join(dir, "key.pem"))
	s.cmd.Dir = dir
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		conn, err := net.Dial("tcp", s.secure)
		if err == nil {
			return s, conn.Close()
		}
		if time.Now().After(deadline) {
			s.kill()
			return nil, err
		}
		<-time.After(20 * time.Millisecond)
	}
}

func (s *server) kill() {
	_ = s.cmd.Process.Kill() // it may have ended
	_ = s.cmd.Wait()
}

// open opens the connections of a crowd and sends what they send.
func (s *server) open(c crowd) ([]net.Conn, error) {
	addr := s.addr
	if c.tls {
		addr = s.secure
	}
	conns := make([]net.Conn, 0, c.count)
	for range c.count {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return conns, err
		}
		conns = append(conns, conn)
		// A server that takes no more must not stop this program.
		if err := conn.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			return conns, err
		}
		_, err = io.WriteString(conn, c.send)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, io.EOF) && !isReset(err) {
			return conns, err
		}
	}
	return conns, nil
}

func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op)
}

// ask makes 2,000 decisions on a connection of its own, one after the other,
// and tells how long they took, as cells of the table.
func (s *server) ask(ctx context.Context) string {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.addr)
	if err != nil {
		return err.Error() + " | |"
	}
	defer conn.Close()
	replies := bufio.NewReader(conn)
	var took []float64
	for i := range 2000 {
		began := time.Now()
		if _, err := fmt.Fprintf(conn, "RL.ALLOW honest:%d 100 1m\r\n", i%100); err != nil {
			return err.Error() + " | |"
		}
		for range 6 {
			if _, err := replies.ReadString('\n'); err != nil {
				return err.Error() + " | |"
			}
		}
		took = append(took, time.Since(began).Seconds()*1000)
	}
	slices.Sort(took)
	return fmt.Sprintf("%.2f ms | %.2f ms | %.2f ms", took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
}

// settled waits until the server holds what it held before, or a while.
func (s *server) settled(ctx context.Context, base figures) (now figures, err error) {
	for deadline := time.Now().Add(15 * time.Second); ; <-time.After(100 * time.Millisecond) {
		now, err = s.figures(ctx)
		if err != nil || time.Now().After(deadline) || now.goroutines <= base.goroutines && now.descriptors <= base.descriptors {
			return now, err
		}
	}
}

func (s *server) figures(ctx context.Context) (f figures, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.side+"/metrics", http.NoBody)
	if err != nil {
		return f, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return f, err
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	values := map[string]float64{}
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			values[name] = n
		}
	}
	f = figures{values["process_resident_memory_bytes"], values["process_open_fds"], values["go_goroutines"]}
	if f.rss == 0 || f.descriptors == 0 || math.IsNaN(f.goroutines) || f.goroutines == 0 {
		return f, errors.New("the metrics lack process_resident_memory_bytes, process_open_fds or go_goroutines")
	}
	return f, nil
}

func freeAddr() string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "127.0.0.1:0"
	}
	defer ln.Close()
	return ln.Addr().String()
}
