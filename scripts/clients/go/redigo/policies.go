package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gomodule/redigo/redis"
)

// policy is what is looked at here of a policy.
type policy struct {
	Name   string `redis:"name"`
	Limit  int64  `redis:"limit"`
	Window string `redis:"window"`
}

// policies sets a policy: a limit that the server keeps and all of its users
// share.
func policies(addrs []string) error {
	conn, err := redis.Dial("tcp", addrs[0])
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()

	if _, err := conn.Do("RL.POLICY.SET", "logins", "LIMIT", 2, "WINDOW", "1h", "ENDPOINT", "POST /login"); err != nil {
		return err
	}
	p, err := parse(conn.Do("RL.POLICY.GET", "logins"))
	if err != nil {
		return err
	}
	fmt.Println("policy", p.Limit, p.Window)
	page, err := redis.Values(conn.Do("RL.POLICY.LIST")) // a cursor, and policies
	if err != nil {
		return err
	}
	fmt.Print("policies")
	for _, fields := range page[1].([]any) {
		p, err := parse(fields, nil)
		if err != nil {
			return err
		}
		fmt.Print(" ", p.Name)
	}
	fmt.Println()

	for range 3 {
		d, err := redis.Values(conn.Do("RL.CHECK", "user:11", "ENDPOINT", "POST /login"))
		if err != nil {
			return err
		}
		var allowed, limit, remaining, waitMS, resetMS int64
		var name string
		if _, err := redis.Scan(d, &allowed, &limit, &remaining, &waitMS, &resetMS, &name); err != nil {
			return err
		}
		fmt.Println("check", allowed, limit, remaining, name)
	}

	for _, addr := range addrs {
		p, err := await(addr)
		if err != nil {
			return err
		}
		fmt.Println("node", p.Limit, p.Window)
	}
	reset, err := redis.Int(conn.Do("RL.RESET", "user:11", "POLICY", "logins"))
	if err != nil {
		return err
	}
	fmt.Println("reset", reset)
	deleted, err := redis.Int(conn.Do("RL.POLICY.DEL", "logins"))
	if err != nil {
		return err
	}
	fmt.Println("deleted", deleted)
	return nil
}

// parse takes the names and values of a reply. A policy that is not there is
// redis.ErrNil.
func parse(reply any, err error) (p policy, _ error) {
	fields, err := redis.Values(reply, err)
	if err != nil {
		return p, err
	}
	return p, redis.ScanStruct(fields, &p)
}

// await asks until the policy is there. The node that was told has it at once;
// the others have it a moment later.
func await(addr string) (p policy, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	conn, err := redis.DialContext(ctx, "tcp", addr)
	if err != nil {
		return p, err
	}
	defer func() { _ = conn.Close() }()
	for {
		p, err := parse(redis.DoContext(conn, ctx, "RL.POLICY.GET", "logins"))
		if !errors.Is(err, redis.ErrNil) {
			return p, err
		}
		<-time.After(20 * time.Millisecond)
	}
}
