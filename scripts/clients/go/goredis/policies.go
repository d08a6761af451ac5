package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// policies sets a policy: a limit that the server keeps and all of its users
// share.
func policies(ctx context.Context, nodes []*redis.Client) error {
	client := nodes[0]
	if err := client.Do(ctx, "RL.POLICY.SET", "logins", "LIMIT", 2, "WINDOW", "1h", "ENDPOINT", "POST /login").Err(); err != nil {
		return err
	}
	policy, err := get(ctx, client)
	if err != nil {
		return err
	}
	fmt.Println("policy", policy["limit"], policy["window"])
	page, err := client.Do(ctx, "RL.POLICY.LIST").Slice() // a cursor, and policies
	if err != nil {
		return err
	}
	fmt.Print("policies")
	for _, policy := range page[1].([]any) {
		fmt.Print(" ", name(policy))
	}
	fmt.Println()

	for range 3 {
		d, err := client.Do(ctx, "RL.CHECK", "user:11", "ENDPOINT", "POST /login").Slice()
		if err != nil {
			return err
		}
		allowed, limit, remaining, policy := d[0], d[1], d[2], d[5]
		fmt.Println("check", allowed, limit, remaining, policy)
	}

	for _, node := range nodes {
		policy, err := await(ctx, node)
		if err != nil {
			return err
		}
		fmt.Println("node", policy["limit"], policy["window"])
	}
	reset, err := client.Do(ctx, "RL.RESET", "user:11", "POLICY", "logins").Int()
	if err != nil {
		return err
	}
	fmt.Println("reset", reset)
	deleted, err := client.Do(ctx, "RL.POLICY.DEL", "logins").Int()
	if err != nil {
		return err
	}
	fmt.Println("deleted", deleted)
	return nil
}

// get takes the map of RESP3, and the names and values of RESP2. A policy that
// is not there is redis.Nil.
func get(ctx context.Context, client *redis.Client) (map[string]any, error) {
	cmd := redis.NewMapStringInterfaceCmd(ctx, "RL.POLICY.GET", "logins")
	if err := client.Process(ctx, cmd); err != nil {
		return nil, err
	}
	return cmd.Val(), nil
}

// await asks until the policy is there. The node that was told has it at once;
// the others have it a moment later.
func await(ctx context.Context, node *redis.Client) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for {
		policy, err := get(ctx, node)
		if !errors.Is(err, redis.Nil) {
			return policy, err
		}
		<-time.After(20 * time.Millisecond)
	}
}

// name is that of a policy in a list.
func name(policy any) any {
	if fields, ok := policy.(map[any]any); ok { // RESP3
		return fields["name"]
	}
	return policy.([]any)[1] // the first of the names and values
}
