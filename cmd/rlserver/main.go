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
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	signal.Ignore(syscall.SIGPIPE) // else the end of whoever reads the log ends the server
	os.Exit(run(ctx, os.Args[1:], os.Getenv, hangup, os.Stdout, os.Stderr))
}

// run is the whole program; ctx ends it, hangup makes it read its files again.
// It returns the exit code.
func run(ctx context.Context, args []string, getenv func(string) string, hangup <-chan os.Signal, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "docs" {
		return report(stderr, writeDocs(args[1:]))
	}
	if len(args) > 0 && args[0] == "inspect" {
		return report(stderr, inspect(args[1:], stdout))
	}
	if len(args) > 0 && args[0] == "cluster" {
		return report(stderr, clusterCommand(args[1:], stdout, stderr))
	}
	if len(args) > 0 && args[0] == "policies" {
		return policiesCommand(ctx, args[1:], shell{getenv, os.Stdin, stdout}, stderr)
	}
	cfg, err := parseConfig(args, getenv, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return report(stderr, err)
	case cfg.version:
		fmt.Fprintf(stdout, "rlserver %s\n", version)
		return 0
	}
	log := openLogs(stderr, cfg.logFormat, &cfg.logLevel)
	err = serve(ctx, cfg, newClock(), hangup, log.Logger)
	log.close()
	return report(stderr, err)
}

func report(stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "rlserver: %v\n", err)
	return 1
}
