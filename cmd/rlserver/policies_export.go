package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/policy"
)

const exportUsage = `rlserver policies export: print the policies of a running server

Usage: rlserver policies export [flags]

The output is a file for rlserver policies apply: applied as it is, it changes
nothing.
`

// policyPage is how many policies are asked for at a time; the server gives no
// more.
const policyPage = 1000

// exportPolicies is `rlserver policies export`. It prints all or nothing.
func exportPolicies(ctx context.Context, args []string, sh shell) error {
	var server remote
	fs := flag.NewFlagSet("rlserver policies export", flag.ContinueOnError)
	server.flags(fs)
	format := fs.String("format", "yaml", "`format` of the output: yaml or json")
	words, err := parsePoliciesFlags(fs, args, exportUsage, sh.stdout)
	if err != nil {
		return err
	}
	write := policy.WriteYAML
	switch {
	case len(words) > 0:
		return fmt.Errorf("export: %q is no flag, and nothing else is wanted; the output may be redirected: > FILE", words[0])
	case *format == "json":
		write = policy.WriteJSON
	case *format != "yaml":
		return fmt.Errorf("export: --format must be yaml or json, got %q", *format)
	}
	if err := server.open(fs, sh.getenv); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer server.close()
	set, err := server.export(ctx)
	if err == nil {
		err = write(sh.stdout, set)
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// export reads all policies, page by page.
func (r *remote) export(ctx context.Context) (set []*policy.Rule, err error) {
	from := ""
	for {
		page, next, err := r.exportPage(ctx, from)
		if err != nil {
			return nil, err
		}
		set = append(set, page...)
		if next == "" {
			return set, nil
		}
		if next <= from {
			return nil, r.foreign(false) // it would go on for ever
		}
		from = next
	}
}

// exportPage reads the policies from a name on; next is where more begin, if
// there are more.
func (r *remote) exportPage(ctx context.Context, from string) (page []*policy.Rule, next string, err error) {
	answer, err := r.ask(ctx, request{
		method: http.MethodGet,
		query:  url.Values{"from": {from}, "count": {strconv.Itoa(policyPage)}},
	})
	if err != nil {
		return nil, "", err
	}
	var read struct {
		Policies []json.RawMessage
		Next     string
	}
	if json.Unmarshal(answer, &read) != nil || read.Policies == nil {
		return nil, "", r.foreign(false)
	}
	for _, text := range read.Policies {
		// Without the version, which is the server's: files differ only where
		// policies do.
		rule, err := policy.ReadOne(text, "", limit.Bounds{MaxLog: limit.MaxUnits})
		if err != nil {
			return nil, "", fmt.Errorf("%s has a policy that this program cannot read, perhaps because it is older: %w", r.policies, err)
		}
		page = append(page, rule)
	}
	return page, read.Next, nil
}
