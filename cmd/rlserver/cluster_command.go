package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/rlserver/rlserver/raftfsm"
)

const clusterUsage = `rlserver cluster: repair a cluster

Usage:
  rlserver cluster recover --dir DIRECTORY

recover is for when a majority of the voters is lost for good. It makes the node
of the directory the only voter of its cluster, with all policies that it knows.

  1. Stop every node that still runs. A node that runs on would be a second cluster.
  2. Run recover on the directory of one node that is left, the one that knows most:
     the highest "applied" in RL.CLUSTER.STATUS.
  3. Start that node. RL.NODE.REMOVE the others.
  4. Start the others with empty directories and --join.
`

// clusterCommand is `rlserver cluster`, which changes the directory of a node
// that does not run.
func clusterCommand(args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return errors.New("want recover; rlserver cluster --help tells more")
	}
	switch args[0] {
	case "recover":
		return recoverCluster(args[1:], stdout, stderr)
	case "help", "-h", "-help", "--help":
		fmt.Fprint(stdout, clusterUsage)
		return nil
	}
	return fmt.Errorf("want recover, got %q; rlserver cluster --help tells more", args[0])
}

func recoverCluster(args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("rlserver cluster recover", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	dir := fs.String("dir", "", "`directory` of the node, as it runs with")
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, clusterUsage)
		return nil
	case err != nil:
		return err
	case *dir == "":
		return errors.New("--dir must name the node's directory")
	case fs.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	id, err := raftfsm.Recover(*dir, time.Now, log)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "node %s is the only voter of its cluster now\n"+
		"start it; RL.NODE.REMOVE the others; start those with empty directories and --join\n", id)
	return nil
}
