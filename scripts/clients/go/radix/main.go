// Command radix asks for limits through radix.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/mediocregopher/radix/v4"
)

func main() {
	var addrs []string // of one node, or of all of a cluster
	for port := range strings.SplitSeq(os.Args[2], ",") {
		addrs = append(addrs, net.JoinHostPort(os.Args[1], port))
	}
	err := run(context.Background(), addrs[0])
	if err == nil {
		err = policies(context.Background(), addrs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addr string) error {
	client, err := (radix.PoolConfig{}).New(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()

	// Two requests an hour. The third is denied; that is a reply, not an error.
	for range 3 {
		var d []int64
		if err := client.Do(ctx, radix.FlatCmd(&d, "RL.ALLOW", "user:7", 2, "1h")); err != nil {
			return err
		}
		allowed, limit, remaining, waitMS, resetMS := d[0], d[1], d[2], d[3], d[4]
		fmt.Println("allow", allowed, limit, remaining, waitMS, resetMS)
	}

	// As redis-cell: a burst of 1 + 1, then 2 an hour.
	for range 3 {
		var d []int64
		if err := client.Do(ctx, radix.FlatCmd(&d, "CL.THROTTLE", "user:8", 1, 2, 3600)); err != nil {
			return err
		}
		limited, limit, remaining, retryAfter, resetAfter := d[0], d[1], d[2], d[3], d[4]
		fmt.Println("throttle", limited, limit, remaining, retryAfter, resetAfter)
	}

	// Several decisions in one round trip.
	var d [3][]int64
	pipe := radix.NewPipeline()
	for i := range d {
		pipe.Append(radix.FlatCmd(&d[i], "RL.ALLOW", "user:9", 2, "1h"))
	}
	if err := client.Do(ctx, pipe); err != nil {
		return err
	}
	fmt.Println("pipeline", d[0][0], d[1][0], d[2][0])

	// MULTI ... EXEC.
	var decisions [][]int64
	pipe = radix.NewPipeline()
	pipe.Append(radix.Cmd(nil, "MULTI"))
	for range 3 {
		pipe.Append(radix.FlatCmd(nil, "RL.ALLOW", "user:10", 2, "1h"))
	}
	pipe.Append(radix.Cmd(&decisions, "EXEC"))
	if err := client.Do(ctx, pipe); err != nil {
		return err
	}
	fmt.Println("transaction", decisions[0][0], decisions[1][0], decisions[2][0])
	return nil
}
