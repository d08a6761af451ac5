package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/rlserver/rlserver/snapshot"
)

const inspectUsage = `rlserver inspect: print a file of buckets for people

Usage:
  rlserver inspect FILE    buckets-000042.snapshot or .journal of a directory's buckets/
`

// inspect is `rlserver inspect`. It only reads: the server may run.
func inspect(args []string, stdout io.Writer) (err error) {
	if len(args) != 1 {
		return errors.New("want the name of one file; rlserver inspect --help tells more")
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		fmt.Fprint(stdout, inspectUsage)
		return nil
	}
	file, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	out := bufio.NewWriter(stdout)
	defer func() { err = errors.Join(err, out.Flush()) }()
	if err := snapshot.Print(out, bufio.NewReader(file)); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return nil
}
