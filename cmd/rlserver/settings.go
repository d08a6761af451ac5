package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/peterbourgon/ff/v3"
)

// settings fills a flag set from the command line, the environment and the
// file that --config names. What stands first in this list wins. Every mistake
// is kept, so that one start shows them all.
type settings struct {
	fs     *flag.FlagSet
	getenv func(string) string

	given map[string]bool // by what wins over the source that is being read
	errs  []error
}

// readSettings returns the names of the flags that stood on the command line.
// Asking for help is the only mistake it returns alone, as flag.ErrHelp.
func readSettings(fs *flag.FlagSet, args []string, getenv func(string) string) (typed map[string]bool, err error) {
	s := &settings{fs: fs, getenv: getenv}
	if err := s.readArgs(args); err != nil {
		return nil, err
	}
	typed = s.names()
	s.given = typed
	s.readEnvironment()
	s.given = s.names()
	s.readFile(fs.Lookup("config").Value.String())
	return typed, errors.Join(s.errs...)
}

func (s *settings) bad(format string, a ...any) { s.errs = append(s.errs, fmt.Errorf(format, a...)) }

// readArgs goes on behind a mistake, at the next word that looks like a flag.
// Words that are none are not repeated: they may be half of a secret.
func (s *settings) readArgs(args []string) error {
	rest := args
	for len(rest) > 0 {
		err := s.fs.Parse(rest)
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		read := rest[:len(rest)-s.fs.NArg()]
		rest = s.fs.Args()
		if err != nil {
			s.restore(read)
		}
		if err == nil && len(rest) > 0 {
			err = fmt.Errorf("unexpected argument: word %d behind rlserver is no flag", len(args)-len(rest)+1)
			rest = rest[1:]
		}
		if err == nil {
			break
		}
		s.errs = append(s.errs, err)
		for len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
			rest = rest[1:]
		}
	}
	return nil
}

func (s *settings) readEnvironment() {
	s.fs.VisitAll(func(f *flag.Flag) {
		// RLSERVER_VERSION is what images call the version they hold.
		name := environment(f.Name)
		if value := s.getenv(name); value != "" && !s.given[f.Name] && f.Name != "version" {
			s.set(f, value, name)
		}
	})
}

func (s *settings) readFile(name string) {
	if name == "" {
		return
	}
	file, err := os.Open(name)
	if err != nil {
		s.bad("--config: %w", err)
		return
	}
	defer file.Close() //nolint:errcheck // it was only read
	seen := make(map[string]bool)
	err = ff.PlainParser(file, func(setting, value string) error {
		f := s.fs.Lookup(setting)
		switch {
		case f == nil || setting == "config" || setting == "version":
			s.bad("%s: there is no setting %q", name, setting)
		case seen[setting]:
			s.bad("%s: %s stands twice", name, setting)
		case !s.given[setting]:
			s.set(f, value, name+": "+setting)
		}
		seen[setting] = true
		return nil
	})
	if err != nil {
		s.bad("--config %s: %w", name, err)
	}
}

func (s *settings) set(f *flag.Flag, value, where string) {
	if err := s.fs.Set(f.Name, value); err != nil {
		s.bad("invalid value %q for %s: %w", value, where, err)
		_ = f.Value.Set(f.DefValue) // see restore
	}
}

// restore gives the last flag among words its default again: one that was
// refused is left at 0, which may look like a further mistake.
func (s *settings) restore(words []string) {
	for _, word := range slices.Backward(words) {
		if !strings.HasPrefix(word, "-") {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if f := s.fs.Lookup(name); f != nil {
			_ = f.Value.Set(f.DefValue)
		}
		return
	}
}

// names are the flags that were set so far.
func (s *settings) names() map[string]bool {
	set := make(map[string]bool)
	s.fs.Visit(func(f *flag.Flag) { set[f.Name] = true })
	return set
}

// environment is the name of a flag's environment variable.
func environment(flagName string) string {
	return "RLSERVER_" + strings.ToUpper(strings.ReplaceAll(flagName, "-", "_"))
}
