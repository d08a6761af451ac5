package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/rlserver/rlserver/admin"
	"github.com/rlserver/rlserver/commands"
)

// writeDocs writes the pages that are made from tables into a directory:
// `rlserver docs DIR`. A test fails when one is stale.
func writeDocs(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: rlserver docs DIR")
	}
	return errors.Join(
		writePage(filepath.Join(args[0], "commands.md"), commands.Markdown),
		writePage(filepath.Join(args[0], "configuration.md"), configurationPage),
		writePage(filepath.Join(args[0], "metrics.md"), admin.MetricsPage),
	)
}

func writePage(name string, write func(io.Writer) error) error {
	var page strings.Builder
	if err := write(&page); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(page.String()), 0o644)
}

// configurationPage is docs/configuration.md: the flags, as --help has them.
func configurationPage(w io.Writer) error {
	fmt.Fprint(w, `# Configuration

<!-- Made by make docs from the flags' own table; do not edit. -->

Every setting is a flag, an environment variable and a line of a file; the flag
wins over the environment, the environment over the file.

    rlserver --max-memory 64mb
    RLSERVER_MAX_MEMORY=64mb rlserver
    rlserver --config rlserver.conf        # with a line: max-memory 64mb

In the file a `+"`#`"+` begins a comment, at the start of a line or behind a space, so
secrets belong into files of their own. A flag or a line that is unknown, and any
value out of range, is refused at the start, with every mistake named; an unknown
or empty environment variable is ignored. Sizes are bytes, or end in kb, mb or gb;
times are written 500ms, 10s, 5m.

Two nodes on one machine need two `+"`--addr`"+` and two `+"`--admin-addr`"+`: the second
would do without its HTTP door, and warn.

`+"`CONFIG SET name value`"+` changes those that are marked so while the server runs, under
the flag's name or Redis', until the next start; `+"`CONFIG GET`"+` shows what counts. The
others need a restart. Files of secrets and certificates are read again without one:
[security.md](security.md).

| flag | environment | default | while it runs | meaning |
|---|---|---|---|---|
`)
	var c config
	var err error
	c.flags().VisitAll(func(f *flag.Flag) {
		if err != nil {
			return
		}
		_, usage := flag.UnquoteUsage(f)
		fallback := f.DefValue
		if fallback == "" {
			fallback = "-"
		}
		_, err = fmt.Fprintf(w, "| `--%s` | `%s` | %s | %s | %s |\n", f.Name, environment(f.Name), fallback, changes(f.Name), usage)
	})
	fmt.Fprint(w, `
`+"`CONFIG SET`"+` alone knows these, of Redis:

| name | default | meaning |
|---|---|---|
`)
	for _, s := range commands.RunTimeSettings() {
		fmt.Fprintf(w, "| `%s` | %s | %s |\n", s.Name, s.Default, s.Meaning)
	}
	return err
}

// changes says how a flag's setting changes while the server runs.
func changes(name string) string {
	for _, t := range tunables() {
		switch {
		case t.flag != name:
		case t.redis != "":
			return "`CONFIG SET`, also as `" + t.redis + "`"
		default:
			return "`CONFIG SET`"
		}
	}
	return "-"
}
