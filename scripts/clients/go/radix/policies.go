package main

import (
	"context"
	"fmt"
	"time"

	"github.com/mediocregopher/radix/v4"
)

// policies sets a policy: a limit that the server keeps and all of its users
// share.
func policies(ctx context.Context, addrs []string) error {
	client, err := (radix.PoolConfig{}).New(ctx, "tcp", addrs[0])
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()

	set := radix.FlatCmd(nil, "RL.POLICY.SET", "logins", "LIMIT", 2, "WINDOW", "1h", "ENDPOINT", "POST /login")
	if err := client.Do(ctx, set); err != nil {
		return err
	}
	var policy map[string]string
	if err := client.Do(ctx, radix.Cmd(&policy, "RL.POLICY.GET", "logins")); err != nil {
		return err
	}
	fmt.Println("policy", policy["limit"], policy["window"])
	var cursor string
	var all []map[string]string
	if err := client.Do(ctx, radix.Cmd(&radix.Tuple{&cursor, &all}, "RL.POLICY.LIST")); err != nil {
		return err
	}
	fmt.Print("policies")
	for _, policy := range all {
		fmt.Print(" ", policy["name"])
	}
	fmt.Println()

	for range 3 {
		var d []string
		if err := client.Do(ctx, radix.Cmd(&d, "RL.CHECK", "user:11", "ENDPOINT", "POST /login")); err != nil {
			return err
		}
		allowed, limit, remaining, policy := d[0], d[1], d[2], d[5]
		fmt.Println("check", allowed, limit, remaining, policy)
	}

	for _, addr := range addrs {
		policy, err := await(ctx, addr)
		if err != nil {
			return err
		}
		fmt.Println("node", policy["limit"], policy["window"])
	}
	var reset, deleted int
	if err := client.Do(ctx, radix.Cmd(&reset, "RL.RESET", "user:11", "POLICY", "logins")); err != nil {
		return err
	}
	fmt.Println("reset", reset)
	if err := client.Do(ctx, radix.Cmd(&deleted, "RL.POLICY.DEL", "logins")); err != nil {
		return err
	}
	fmt.Println("deleted", deleted)
	return nil
}

// await asks until the policy is there. The node that was told has it at once;
// the others have it a moment later.
func await(ctx context.Context, addr string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	node, err := (radix.PoolConfig{}).New(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = node.Close() }()
	for {
		var policy map[string]string
		found := radix.Maybe{Rcv: &policy}
		if err := node.Do(ctx, radix.Cmd(&found, "RL.POLICY.GET", "logins")); err != nil || !found.Null {
			return policy, err
		}
		<-time.After(20 * time.Millisecond)
	}
}
