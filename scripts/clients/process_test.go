package clients

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// patience is how long anything may take that should be immediate.
const patience = 30 * time.Second

// process is a child that does not outlive its test.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when err is set
	err   error
}

// start starts a child. It is killed when the test ends, and by the kernel
// (where it can) when this process dies before it can see to that.
func start(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	diesWithParent(cmd)
	p := &process{cmd: cmd, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel takes the thread for the parent. This one lives as long as
		// the child, and ends with this goroutine as it is never unlocked.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
		close(p.ended)
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-p.ended
	})
	return p
}

// result is how a program ended.
type result struct {
	stdout, stderr string
	exit           int
}

// execute runs a program to its end.
func execute(t *testing.T, stdin string, name string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	p := start(t, cmd)
	<-p.ended
	if ctx.Err() != nil {
		t.Fatalf("%s did not end within %s\nstdout: %s\nstderr: %s", name, patience, &stdout, &stderr)
	}
	if exit := (*exec.ExitError)(nil); p.err != nil && !errors.As(p.err, &exit) {
		t.Fatalf("%s: %v", name, p.err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// succeed runs a program that must end with 0 and complain of nothing, and
// returns what it printed.
func succeed(t *testing.T, name string, args ...string) string {
	t.Helper()
	r := execute(t, "", name, args...)
	if r.exit != 0 || r.stderr != "" {
		t.Fatalf("%s %q: exit code %d\nstdout: %s\nstderr: %s", name, args, r.exit, r.stdout, r.stderr)
	}
	return r.stdout
}
