package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// diskBench measures what a server keeps.
type diskBench struct {
	bench
	dir string
}

// begin starts a server on what a directory holds, and returns how long it
// took until all keys were there.
func (b *diskBench) begin(ctx context.Context, k *keeper, data string, keys int) (*process, time.Duration, error) {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, 0, err
	}
	var p *process
	var err error
	began := time.Now()
	if k.by == rlserver {
		// The flag that is named last counts.
		p, err = b.startNode(ctx, b.dir, append([]string{"--dir", data}, k.args...)...)
	} else {
		p, err = start(ctx, b.dir, "redis-server", func(_, host, port string) []string {
			return append([]string{"--bind", host, "--port", port, "--dir", data}, k.args...)
		})
	}
	if err != nil {
		return nil, 0, err
	}
	for {
		count, err := ask(ctx, p.addr, "DBSIZE")
		if err == nil && count.text == strconv.Itoa(keys) {
			break
		}
		if time.Since(began) > time.Minute {
			p.stop()
			return nil, 0, fmt.Errorf("%s: %q of %d keys are there: %w", k.name, count.text, keys, err)
		}
	}
	took := time.Since(began)
	if k.by == redisServer {
		if _, err := ask(ctx, p.addr, "SCRIPT", "LOAD", gcra); err != nil {
			p.stop()
			return nil, 0, err
		}
	}
	return p, took, nil
}

// terminate stops a server in order.
func (p *process) terminate() error {
	if err := syscall.Kill(p.pid, syscall.SIGTERM); err != nil {
		return err
	}
	<-p.exited
	return nil
}

// filled starts a server and has it know all keys.
func (b *diskBench) filled(ctx context.Context, k *keeper, data string) (*process, error) {
	b.say("filling %s", k.name)
	p, _, err := b.begin(ctx, k, data, 0)
	if err != nil {
		return nil, err
	}
	if err := fill(ctx, p.addr, k.limiting(uniform, "100"), b.keys); err != nil {
		p.stop()
		return nil, fmt.Errorf("%s: %w", k.name, err)
	}
	return p, nil
}

// perSecondSync is more than the second in which all that changed is written.
const perSecondSync = 2500 * time.Millisecond

// starts measures saving, and starting from what was saved or was left by a
// crash: each time from the same files.
func (b *diskBench) starts(ctx context.Context, all []*keeper) error {
	for i, k := range all {
		if !k.saves && !k.crashes {
			continue
		}
		data := filepath.Join(b.dir, fmt.Sprintf("filled-%d", i))
		p, err := b.filled(ctx, k, data)
		if err != nil {
			return err
		}
		if err := wait(ctx, perSecondSync); err != nil {
			return err
		}
		if k.crashes {
			p.stop()
			if k.crashedBytes, err = b.startsOf(ctx, k, data, &k.recover, nil); err != nil {
				return err
			}
			if !k.saves {
				continue
			}
			if p, _, err = b.begin(ctx, k, data, b.keys); err != nil {
				return err
			}
		}
		if err := p.terminate(); err != nil {
			return err
		}
		if k.savedBytes, err = b.startsOf(ctx, k, data, &k.load, &k.save); err != nil {
			return err
		}
	}
	return nil
}

// startsOf starts from copies of a directory, and saves if save is not nil. It
// returns how many bytes of the disk a key takes.
func (b *diskBench) startsOf(ctx context.Context, k *keeper, data string, load, save *[]float64) (perKey float64, err error) {
	size, err := sizeOf(kept(k, data))
	if err != nil {
		return 0, err
	}
	for round := range b.rounds {
		again := filepath.Join(b.dir, "again")
		if err := os.CopyFS(again, os.DirFS(data)); err != nil {
			return 0, err
		}
		p, took, err := b.begin(ctx, k, again, b.keys)
		if err != nil {
			return 0, err
		}
		*load = append(*load, took.Seconds())
		b.say("round %d of %d  %s starts in %.2f s", round+1, b.rounds, k.name, took.Seconds())
		if save != nil {
			began := time.Now()
			if _, err := ask(ctx, p.addr, saveCommand(k)); err != nil {
				p.stop()
				return 0, err
			}
			*save = append(*save, time.Since(began).Seconds())
			b.say("round %d of %d  %s saves in %.2f s", round+1, b.rounds, k.name, time.Since(began).Seconds())
		}
		p.stop()
		if err := os.RemoveAll(again); err != nil {
			return 0, err
		}
	}
	return float64(size) / float64(b.keys), nil
}

func saveCommand(k *keeper) string {
	if k.by == rlserver {
		return "RL.SAVE"
	}
	return "SAVE"
}

// kept is where the keys are, without what else a server keeps.
func kept(k *keeper, data string) string {
	if k.by == rlserver {
		return filepath.Join(data, "buckets")
	}
	return data
}

// field is a number that INFO persistence tells.
func field(ctx context.Context, addr, name string) (float64, error) {
	info, err := ask(ctx, addr, "INFO", "persistence")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(info.text) {
		if value, found := strings.CutPrefix(line, name+":"); found {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("INFO persistence has no %s", name)
}

// wait is for what happens once a second.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
