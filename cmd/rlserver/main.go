// Command rlserver is a rate limiter that speaks Redis' protocol.
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

// version is the product's version; a release build sets it.
var version = "0.1.0-dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole program; ctx ends it. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "docs" {
		return report(stderr, writeDocs(args[1:]))
	}
	cfg, err := parseConfig(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return report(stderr, err)
	case cfg.version:
		fmt.Fprintf(stdout, "rlserver %s\n", version)
		return 0
	}
	return report(stderr, serve(ctx, cfg, newClock(), newLogger(stderr, cfg)))
}

func report(stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "rlserver: %v\n", err)
	return 1
}
