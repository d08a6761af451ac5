// Command rueidis asks for limits through rueidis.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/redis/rueidis"
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
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
	if err != nil {
		return err
	}
	defer client.Close()

	// Two requests an hour. The third is denied; that is a reply, not an error.
	for range 3 {
		d, err := client.Do(ctx, allow(client, "user:7")).AsIntSlice()
		if err != nil {
			return err
		}
		allowed, limit, remaining, waitMS, resetMS := d[0], d[1], d[2], d[3], d[4]
		fmt.Println("allow", allowed, limit, remaining, waitMS, resetMS)
	}

	// As redis-cell: a burst of 1 + 1, then 2 an hour.
	for range 3 {
		d, err := client.Do(ctx, client.B().Arbitrary("CL.THROTTLE").Keys("user:8").Args("1", "2", "3600").Build()).AsIntSlice()
		if err != nil {
			return err
		}
		limited, limit, remaining, retryAfter, resetAfter := d[0], d[1], d[2], d[3], d[4]
		fmt.Println("throttle", limited, limit, remaining, retryAfter, resetAfter)
	}

	// Several decisions in one round trip.
	replies := client.DoMulti(ctx, allow(client, "user:9"), allow(client, "user:9"), allow(client, "user:9"))
	fmt.Print("pipeline")
	for _, reply := range replies {
		d, err := reply.AsIntSlice()
		if err != nil {
			return err
		}
		fmt.Print(" ", d[0])
	}

	// MULTI ... EXEC; the last reply has those of the commands.
	replies = client.DoMulti(ctx,
		client.B().Multi().Build(),
		allow(client, "user:10"), allow(client, "user:10"), allow(client, "user:10"),
		client.B().Exec().Build())
	decisions, err := replies[len(replies)-1].ToArray()
	if err != nil {
		return err
	}
	fmt.Print("\ntransaction")
	for _, reply := range decisions {
		d, err := reply.AsIntSlice()
		if err != nil {
			return err
		}
		fmt.Print(" ", d[0])
	}
	fmt.Println()
	return nil
}

// allow names the key as such, so that a cluster's client knows the slot.
func allow(client rueidis.Client, key string) rueidis.Completed {
	return client.B().Arbitrary("RL.ALLOW").Keys(key).Args("2", "1h").Build()
}
