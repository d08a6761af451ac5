// Command redigo asks for limits through redigo.
package main

import (
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/gomodule/redigo/redis"
)

func main() {
	var addrs []string // of one node, or of all of a cluster
	for port := range strings.SplitSeq(os.Args[2], ",") {
		addrs = append(addrs, net.JoinHostPort(os.Args[1], port))
	}
	err := run(addrs[0])
	if err == nil {
		err = policies(addrs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(addr string) error {
	conn, err := redis.Dial("tcp", addr) // a server takes it from a redis.Pool
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()

	// Two requests an hour. The third is denied; that is a reply, not an error.
	for range 3 {
		d, err := redis.Int64s(conn.Do("RL.ALLOW", "user:7", 2, "1h"))
		if err != nil {
			return err
		}
		allowed, limit, remaining, waitMS, resetMS := d[0], d[1], d[2], d[3], d[4]
		fmt.Println("allow", allowed, limit, remaining, waitMS, resetMS)
	}

	// As redis-cell: a burst of 1 + 1, then 2 an hour.
	for range 3 {
		d, err := redis.Int64s(conn.Do("CL.THROTTLE", "user:8", 1, 2, 3600))
		if err != nil {
			return err
		}
		limited, limit, remaining, retryAfter, resetAfter := d[0], d[1], d[2], d[3], d[4]
		fmt.Println("throttle", limited, limit, remaining, retryAfter, resetAfter)
	}

	// Several decisions in one round trip: Do("") flushes, and reads the replies
	// of all that was sent.
	if err := send(conn, "user:9"); err != nil {
		return err
	}
	if err := printAllowed("pipeline", conn, ""); err != nil {
		return err
	}

	// MULTI ... EXEC.
	if err := conn.Send("MULTI"); err != nil {
		return err
	}
	if err := send(conn, "user:10"); err != nil {
		return err
	}
	return printAllowed("transaction", conn, "EXEC")
}

func send(conn redis.Conn, key string) error {
	for range 3 {
		if err := conn.Send("RL.ALLOW", key, 2, "1h"); err != nil {
			return err
		}
	}
	return nil
}

func printAllowed(name string, conn redis.Conn, last string) error {
	replies, err := redis.Values(conn.Do(last))
	if err != nil {
		return err
	}
	fmt.Print(name)
	for _, reply := range replies {
		d, err := redis.Int64s(reply, nil)
		if err != nil {
			return err
		}
		fmt.Print(" ", d[0])
	}
	fmt.Println()
	return nil
}
