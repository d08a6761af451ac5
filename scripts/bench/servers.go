package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// bench is one run of the program.
type bench struct {
	options
	root     string // of the module
	rows     []row
	binary   string // rlserver, once it is built
	progress io.Writer
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.progress, format+"\n", args...) }

// wants says whether a cell is to be measured.
func (b *bench) wants(r row, depth int) bool {
	return b.cells.MatchString(cell{r.name, depth}.String())
}

// target is a row with the server that answers it.
type target struct {
	row
	addr        string
	pid         int         // 0: unknown
	requests    map[int]int // by depth
	bytesPerKey float64     // NaN: not measured
}

// servers starts a server for each row that is asked for, measures them, and
// kills them.
func (b *bench) servers(ctx context.Context) (_ []*target, _ map[cell][]sample, err error) {
	dir, err := os.MkdirTemp("", "rlserver-bench-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	targets, stop, err := b.startAll(ctx, dir)
	defer stop()
	if err != nil {
		return nil, nil, err
	}
	for _, t := range targets {
		if err := b.prepare(ctx, t); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", t.name, err)
		}
	}
	cells, err := b.measure(ctx, targets)
	return targets, cells, err
}

// startAll returns what runs, in the order of the rows, and what ends it, also
// when it fails.
func (b *bench) startAll(ctx context.Context, dir string) (targets []*target, stop func(), err error) {
	var running []*process
	stop = func() {
		for _, p := range running {
			p.stop()
		}
	}
	for _, r := range b.rows {
		t := &target{row: r, addr: r.peer.addr, pid: r.peer.pid, requests: map[int]int{}, bytesPerKey: math.NaN()}
		if !slices.ContainsFunc(depths[:], func(depth int) bool { return b.wants(r, depth) }) {
			continue
		}
		if r.by != foreign {
			p, err := b.startServer(ctx, dir, r.by)
			if err != nil {
				return nil, stop, fmt.Errorf("%s: %w", r.name, err)
			}
			running = append(running, p)
			t.addr, t.pid = p.addr, p.pid
		}
		targets = append(targets, t)
	}
	if len(targets) == 0 {
		return nil, stop, errors.New("--cells names no cell")
	}
	return targets, stop, nil
}

func (b *bench) startServer(ctx context.Context, dir string, kind software) (*process, error) {
	if kind == redisServer {
		return start(ctx, dir, "redis-server", func(_, host, port string) []string {
			return []string{"--bind", host, "--port", port, "--save", "", "--appendonly", "no"}
		})
	}
	return b.startNode(ctx, dir)
}

// build makes rlserver, once: all that is measured in a run is the same code.
func (b *bench) build(ctx context.Context, dir string) error {
	if b.binary != "" {
		return nil
	}
	b.say("building rlserver")
	binary := filepath.Join(dir, "rlserver")
	if _, err := output(ctx, b.root, "go", "build", "-o", binary, "./cmd/rlserver"); err != nil {
		return err
	}
	b.binary = binary
	return nil
}

// startNode starts rlserver with its defaults, and with flags.
func (b *bench) startNode(ctx context.Context, dir string, flags ...string) (*process, error) {
	if err := b.build(ctx, dir); err != nil {
		return nil, err
	}
	return start(ctx, dir, b.binary, func(home, host, port string) []string {
		return append([]string{"--addr", host + ":" + port, "--dir", filepath.Join(home, "data")}, flags...)
	})
}

// prepare brings a server into the state of one that is in use: each of the
// row's keys was asked for once, or its only key more often than it may. It
// fails when the answers are not those that the row is named after.
func (b *bench) prepare(ctx context.Context, t *target) error {
	for _, command := range t.setup {
		if _, err := ask(ctx, t.addr, command...); err != nil {
			return err
		}
	}
	b.say("preparing %s", t.name)
	switch {
	case t.memory:
		if err := b.weigh(ctx, t); err != nil {
			return err
		}
	case t.keyed():
		if err := fill(ctx, t.addr, t.command, b.keys); err != nil {
			return err
		}
	default:
		if err := fill(ctx, t.addr, t.command, 1000); err != nil {
			return err
		}
	}
	answer, err := ask(ctx, t.addr, withKey(nil, t.command, 0)...)
	if err != nil {
		return err
	}
	if t.want != "" && answer.first() != t.want {
		return fmt.Errorf("the answer begins with %q, want %q", answer.first(), t.want)
	}
	return nil
}

// weigh fills in the keys and divides by them what the server has grown.
func (b *bench) weigh(ctx context.Context, t *target) error {
	before, err := residentBytes(t.pid)
	if err != nil {
		return err
	}
	if err := fill(ctx, t.addr, t.command, b.keys); err != nil {
		return err
	}
	after, err := residentBytes(t.pid)
	if err != nil {
		return err
	}
	count, err := ask(ctx, t.addr, "DBSIZE")
	if err != nil {
		return err
	}
	if count.text != strconv.Itoa(b.keys) {
		return fmt.Errorf("%s keys after filling in %d", count.text, b.keys)
	}
	t.bytesPerKey = float64(after-before) / float64(b.keys)
	return nil
}
