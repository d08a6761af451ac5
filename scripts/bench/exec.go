package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// readyWithin is how long a server may take until it answers.
const readyWithin = 15 * time.Second

// command is a child that dies with ctx, and its own children with it.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// output runs a child to its end; its standard error becomes part of the error.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := command(ctx, name, args...)
	cmd.Dir = dir
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", name, err, bytes.TrimSpace(complaint.Bytes()))
	}
	return string(out), nil
}

// moduleRoot is the folder of go.mod.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := output(ctx, "", "go", "env", "GOMOD")
	if err != nil {
		return "", err
	}
	mod := strings.TrimSpace(out)
	if filepath.Base(mod) != "go.mod" {
		return "", errors.New("start it inside the checkout")
	}
	return filepath.Dir(mod), nil
}

// process is a server that was started here.
type process struct {
	addr string
	pid  int

	name   string
	log    string // file
	kill   context.CancelFunc
	exited chan struct{}
}

// start runs a server in a folder of its own under dir, with that folder and
// an address given to args, and waits until it answers.
func start(ctx context.Context, dir, name string, args func(home, host, port string) []string) (*process, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp(dir, "server-")
	if err != nil {
		return nil, err
	}
	p := &process{addr: addr, name: filepath.Base(name), log: filepath.Join(home, "log"), exited: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}

	running, kill := context.WithCancel(ctx)
	p.kill = kill
	host, port, _ := net.SplitHostPort(addr)
	cmd := command(running, name, args(home, host, port)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = home, log, log
	cmd.Env = serverEnv(os.Environ())
	err = cmd.Start()
	_ = log.Close() // the server has its own descriptor of it
	if err != nil {
		kill()
		return nil, err
	}
	p.pid = cmd.Process.Pid
	go func() {
		defer close(p.exited)
		_ = cmd.Wait() // it is killed: its status says nothing
	}()
	if err := p.ready(ctx); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// serverEnv makes rlserver run with its defaults whatever the caller has set.
// But many run at once, so that none may want a fixed port.
func serverEnv(env []string) []string {
	env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, "RLSERVER_") })
	return append(env, "RLSERVER_ADMIN_ADDR=127.0.0.1:0")
}

// stop kills the server and returns when it is gone.
func (p *process) stop() {
	p.kill()
	<-p.exited
}

// ready waits until the server answers PING.
func (p *process) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		answer, err := ask(ctx, p.addr, "PING")
		if err == nil && answer.text == "PONG" {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("%s ended: %s", p.name, p.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w: %s", p.name, errors.Join(err, ctx.Err()), p.lastWords())
		case <-tick.C:
		}
	}
}

// lastWords is the end of what the server printed.
func (p *process) lastWords() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// freeAddr is an address of this machine on which nobody listens.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
