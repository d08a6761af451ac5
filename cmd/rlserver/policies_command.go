package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/rlserver/rlserver/policy"
)

// shell is what a command has of the shell that runs it.
type shell struct {
	getenv func(string) string
	stdin  io.Reader
	stdout io.Writer
}

// policiesCommand is `rlserver policies`, which reads and changes the policies
// of a running server. It returns the exit code, which policiesExits explains.
func policiesCommand(ctx context.Context, args []string, sh shell, stderr io.Writer) int {
	err := runPolicies(ctx, args, sh)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintf(stderr, "rlserver policies: %v\n", err)
	if errors.Is(err, policy.ErrOutcomeUnknown) {
		return 2
	}
	return 1
}

const policiesExits = `
Exit codes:
  0  done
  1  refused or failed; nothing was changed
  2  the outcome is unknown: the request was sent, and no certain answer came
`

const policiesUsage = `rlserver policies: read and change the policies of a running server

Usage:
  rlserver policies apply [flags] FILE    make the file's policies those of the server
  rlserver policies export [flags]        print the server's policies as such a file

rlserver policies apply --help and rlserver policies export --help list the flags.
` + policiesExits

func runPolicies(ctx context.Context, args []string, sh shell) error {
	if len(args) == 0 {
		return errors.New("want apply or export; rlserver policies --help tells more")
	}
	switch args[0] {
	case "apply":
		return applyPolicies(ctx, args[1:], sh)
	case "export":
		return exportPolicies(ctx, args[1:], sh)
	case "help", "-h", "-help", "--help":
		fmt.Fprint(sh.stdout, policiesUsage)
		return nil
	}
	return fmt.Errorf("want apply or export, got %q; rlserver policies --help tells more", args[0])
}

// parsePoliciesFlags returns the words that are no flags; flags may stand on
// both sides of them. Asked for help, it prints about and the flags, and
// returns flag.ErrHelp.
func parsePoliciesFlags(fs *flag.FlagSet, args []string, about string, stdout io.Writer) (words []string, err error) {
	fs.SetOutput(io.Discard)
	for {
		err := fs.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(stdout, "%s\nFlags:\n", about)
			fs.SetOutput(stdout)
			fs.PrintDefaults()
			fmt.Fprint(stdout, policiesExits)
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("%w\n%s --help lists the flags", err, fs.Name())
		}
		if fs.NArg() == 0 {
			return words, nil
		}
		words, args = append(words, fs.Arg(0)), fs.Args()[1:]
	}
}
