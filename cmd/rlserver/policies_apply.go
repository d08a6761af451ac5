package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/policy"
)

const applyUsage = `rlserver policies apply: make the policies of a file those of a running server

Usage: rlserver policies apply [flags] FILE

FILE is YAML or JSON, - is standard input:

  policies:
    - name: login
      limit: 5
      window: 1m
      endpoint: POST /login

Policies of the server that the file does not name are DELETED, unless --keep is
given. All changes are made at once or none is; they are listed: + is a new
policy, - one that goes, ~ one that changes.
`

// maxPolicySet is the longest file in bytes; the server takes no more.
const maxPolicySet = 16 << 20

// applyPolicies is `rlserver policies apply`.
func applyPolicies(ctx context.Context, args []string, sh shell) error {
	var server remote
	fs := flag.NewFlagSet("rlserver policies apply", flag.ContinueOnError)
	server.flags(fs)
	dryRun := fs.Bool("dry-run", false, "list the changes, and change nothing")
	keep := fs.Bool("keep", false, "keep the policies that the file does not name")
	files, err := parsePoliciesFlags(fs, args, applyUsage, sh.stdout)
	if err != nil {
		return err
	}
	if len(files) != 1 {
		return fmt.Errorf("apply: want one FILE, or - for standard input, got %d", len(files))
	}
	var changes []string
	if err = server.open(fs, sh.getenv); err == nil {
		defer server.close()
		changes, err = server.apply(ctx, files[0], sh.stdin, *dryRun, *keep)
	}
	switch {
	case errors.Is(err, policy.ErrOutcomeUnknown):
		return fmt.Errorf("apply: %w", err)
	case err != nil:
		return fmt.Errorf("apply: %w\nNothing was changed", err)
	}
	printChanges(sh.stdout, changes, *dryRun)
	return nil
}

// apply returns the changes that the server made, or would make.
func (r *remote) apply(ctx context.Context, file string, stdin io.Reader, dryRun, keep bool) ([]string, error) {
	text, err := readPolicySet(file, stdin)
	if err != nil {
		return nil, err
	}
	// One bound is the server's own, --max-log: it is not checked here.
	if _, err := policy.ReadSet(bytes.NewReader(text), limit.Bounds{MaxLog: limit.MaxUnits}); err != nil {
		return nil, fmt.Errorf("%s: %w", fileName(file), err)
	}
	answer, err := r.ask(ctx, request{
		method:  http.MethodPut,
		query:   url.Values{"dry_run": {strconv.FormatBool(dryRun)}, "keep": {strconv.FormatBool(keep)}},
		body:    text,
		changes: !dryRun,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", fileName(file), err)
	}
	var made struct{ Changes []string }
	if json.Unmarshal(answer, &made) != nil || made.Changes == nil {
		return nil, r.foreign(!dryRun)
	}
	return made.Changes, nil
}

func readPolicySet(file string, stdin io.Reader) ([]byte, error) {
	from := stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // it was only read
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxPolicySet+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %w", fileName(file), err)
	case len(text) > maxPolicySet:
		return nil, fmt.Errorf("%s is longer than %d bytes, the most that the server takes at once: apply parts of it with --keep", fileName(file), maxPolicySet)
	}
	return text, nil
}

func fileName(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

// printChanges prints a line for each change, and one that counts them.
func printChanges(w io.Writer, changes []string, dryRun bool) {
	count := map[byte]int{} // by the sign that a line begins with
	for _, line := range changes {
		if line != "" {
			count[line[0]]++
		}
		fmt.Fprintln(w, visible(line))
	}
	format := "%d added, %d changed, %d deleted\n"
	switch {
	case len(changes) == 0:
		fmt.Fprintln(w, "nothing to change")
		return
	case dryRun:
		format = "a dry run: %d to add, %d to change, %d to delete\n"
	}
	fmt.Fprintf(w, format, count['+'], count['~'], count['-'])
}
