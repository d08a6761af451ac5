package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// options are the flags.
type options struct {
	rounds  int
	quick   bool
	scale   float64 // of the requests of a cell
	keys    int     // distinct keys of a row
	cells   *regexp.Regexp
	skipGo  bool
	goCount int
	date    string
	out     string // a file, - for standard output, "" for docs/benchmarks.md
	peers   []peer
}

// peer is a limiter that speaks RESP and was started by the caller.
type peer struct {
	name    string
	addr    string
	command []string
	pid     int // 0: its CPU time is not known
}

func parseOptions(args []string, help io.Writer) (options, error) {
	o := options{keys: 1_000_000}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(help)
	fs.IntVar(&o.rounds, "rounds", 5, "how `often` each cell is measured; tables show medians")
	fs.BoolVar(&o.quick, "quick", false, "one round of few requests and keys: shows that it works, measures nothing. Writes to standard output unless --out is given")
	fs.Float64Var(&o.scale, "requests-scale", 1, "`factor` of the requests of a cell; 1 is about two seconds")
	cells := fs.String("cells", "", "`regexp` of the cells to measure; a cell is named like \"rlserver PING -P 16\"")
	fs.BoolVar(&o.skipGo, "skip-go", false, "leave out the Go benchmarks of ./limit and ./state")
	fs.IntVar(&o.goCount, "go-count", 5, "how `often` each Go benchmark runs")
	fs.StringVar(&o.date, "date", time.Now().UTC().Format(time.DateOnly), "`day` that the page names")
	fs.StringVar(&o.out, "out", "", "`file` whose marked region is replaced; - for standard output (default: docs/benchmarks.md of the module)")
	fs.Func("peer", "`name=host:port` of another limiter that speaks RESP; may be repeated, each with its own --peer-command", o.addPeer)
	fs.Func("peer-command", "`command` for the peer named last, words separated by blanks; "+randInt+" stands for a random key", o.lastPeer(func(p *peer, v string) error {
		p.command = strings.Fields(v)
		return nil
	}))
	fs.Func("peer-pid", "process `id` of the peer named last, to count its CPU time", o.lastPeer(func(p *peer, v string) error {
		_, err := fmt.Sscanf(v, "%d", &p.pid)
		return err
	}))
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if o.quick {
		o.beQuick(fs)
	}
	var err error
	if o.cells, err = regexp.Compile(*cells); err != nil {
		return o, fmt.Errorf("--cells: %w", err)
	}
	return o, o.validate(fs.Args())
}

// beQuick changes what was not given.
func (o *options) beQuick(fs *flag.FlagSet) {
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	o.keys = 100_000
	if !given["rounds"] {
		o.rounds = 1
	}
	if !given["requests-scale"] {
		o.scale = 0.05
	}
	if !given["go-count"] {
		o.goCount = 1
	}
	if !given["out"] {
		o.out = "-"
	}
}

func (o *options) addPeer(v string) error {
	name, addr, found := strings.Cut(v, "=")
	if !found || name == "" {
		return errors.New("want name=host:port")
	}
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return err
	}
	o.peers = append(o.peers, peer{name: name, addr: addr})
	return nil
}

func (o *options) lastPeer(set func(*peer, string) error) func(string) error {
	return func(v string) error {
		if len(o.peers) == 0 {
			return errors.New("name the peer first, with --peer")
		}
		return set(&o.peers[len(o.peers)-1], v)
	}
}

// page is where a region of the results goes. One that has no place for it must
// not cost minutes first.
func (o *options) page(root, region string) (page, error) {
	out := page{o.out, region}
	if o.out == "" {
		out.file = filepath.Join(root, "docs", "benchmarks.md")
	}
	_, err := out.read()
	return out, err
}

func (o *options) validate(rest []string) error {
	var errs []error
	if len(rest) > 0 {
		errs = append(errs, fmt.Errorf("unexpected argument %q", rest[0]))
	}
	if o.rounds < 1 {
		errs = append(errs, fmt.Errorf("--rounds must be at least 1, got %d", o.rounds))
	}
	if o.goCount < 1 {
		errs = append(errs, fmt.Errorf("--go-count must be at least 1, got %d", o.goCount))
	}
	if !(o.scale > 0) {
		errs = append(errs, fmt.Errorf("--requests-scale must be above 0, got %v", o.scale))
	}
	for _, p := range o.peers {
		if len(p.command) == 0 {
			errs = append(errs, fmt.Errorf("--peer %s has no --peer-command", p.name))
		}
	}
	return errors.Join(errs...)
}
