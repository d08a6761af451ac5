// Command bench measures rlserver beside redis-server, on one machine and in
// one run, and writes what it found into docs/benchmarks.md. It needs Linux,
// redis-server and redis-benchmark; `make bench` runs it. With the word policies
// before its flags it measures policies instead: how fast they change, and what
// RL.CHECK costs; with the word disk, what is kept there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// Whatever would kill this program must end the servers first; a terminal
	// or a reader of the output that went away, too.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run is the whole program; ctx ends it early. No process that it started
// outlives it.
func run(ctx context.Context, args []string, stdout, progress io.Writer) error {
	if len(args) > 0 && args[0] == "policies" {
		return runPolicies(ctx, args[1:], stdout, progress)
	}
	if len(args) > 0 && args[0] == "disk" {
		return runDisk(ctx, args[1:], stdout, progress)
	}
	o, err := parseOptions(args, progress)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	out, err := o.page(root, "bench")
	if err != nil {
		return err
	}

	b := bench{options: o, root: root, rows: rows(o.peers), progress: progress}
	r := report{options: o}
	if r.machine, err = thisMachine(ctx); err != nil {
		return err
	}
	if r.rows, r.cells, err = b.servers(ctx); err != nil {
		return err
	}
	if !o.skipGo {
		if r.goBenches, err = b.goBenches(ctx); err != nil {
			return err
		}
	}
	text, err := r.render()
	if err != nil {
		return err
	}
	return out.write(text, stdout)
}
