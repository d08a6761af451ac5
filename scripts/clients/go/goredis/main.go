// Command goredis asks for limits through go-redis.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

func main() {
	var protocol int // 2 or 3; 0 is the default, 3
	if len(os.Args) > 3 {
		protocol, _ = strconv.Atoi(os.Args[3])
	}
	var nodes []*redis.Client // of one node, or of all of a cluster
	for port := range strings.SplitSeq(os.Args[2], ",") {
		nodes = append(nodes, redis.NewClient(&redis.Options{Addr: net.JoinHostPort(os.Args[1], port), Protocol: protocol}))
	}
	err := run(context.Background(), nodes[0])
	if err == nil {
		err = policies(context.Background(), nodes)
	}
	for _, node := range nodes {
		_ = node.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, client *redis.Client) error {
	// Two requests an hour. The third is denied; that is a reply, not an error.
	for range 3 {
		d, err := client.Do(ctx, "RL.ALLOW", "user:7", 2, "1h").Int64Slice()
		if err != nil {
			return err
		}
		allowed, limit, remaining, waitMS, resetMS := d[0], d[1], d[2], d[3], d[4]
		fmt.Println("allow", allowed, limit, remaining, waitMS, resetMS)
	}

	// As redis-cell: a burst of 1 + 1, then 2 an hour.
	for range 3 {
		d, err := client.Do(ctx, "CL.THROTTLE", "user:8", 1, 2, 3600).Int64Slice()
		if err != nil {
			return err
		}
		limited, limit, remaining, retryAfter, resetAfter := d[0], d[1], d[2], d[3], d[4]
		fmt.Println("throttle", limited, limit, remaining, retryAfter, resetAfter)
	}

	// Several decisions in one round trip.
	if err := several(ctx, "pipeline", "user:9", client.Pipeline()); err != nil {
		return err
	}
	// MULTI ... EXEC.
	return several(ctx, "transaction", "user:10", client.TxPipeline())
}

func several(ctx context.Context, name, key string, pipe redis.Pipeliner) error {
	for range 3 {
		pipe.Do(ctx, "RL.ALLOW", key, 2, "1h")
	}
	replies, err := pipe.Exec(ctx)
	if err != nil {
		return err
	}
	fmt.Print(name)
	for _, reply := range replies {
		d, err := reply.(*redis.Cmd).Int64Slice()
		if err != nil {
			return err
		}
		fmt.Print(" ", d[0])
	}
	fmt.Println()
	return nil
}
