package main

import (
	"context"
	"fmt"
	"time"

	"github.com/valkey-io/valkey-go"
)

// policies sets a policy: a limit that the server keeps and all of its users
// share.
func policies(ctx context.Context, addrs []string) error {
	// Without ForceSingleClient a cluster's nodes would be asked by turns, and the
	// others may not have the policy yet.
	client, err := valkey.NewClient(valkey.ClientOption{InitAddress: addrs[:1], ForceSingleClient: true})
	if err != nil {
		return err
	}
	defer client.Close()

	set := client.B().Arbitrary("RL.POLICY.SET").Args("logins", "LIMIT", "2", "WINDOW", "1h", "ENDPOINT", "POST /login").Build()
	if err := client.Do(ctx, set).Error(); err != nil {
		return err
	}
	policy, err := client.Do(ctx, get(client)).AsStrMap()
	if err != nil {
		return err
	}
	fmt.Println("policy", policy["limit"], policy["window"])
	page, err := client.Do(ctx, client.B().Arbitrary("RL.POLICY.LIST").Build()).ToArray() // a cursor, and policies
	if err != nil {
		return err
	}
	all, err := page[1].ToArray()
	if err != nil {
		return err
	}
	fmt.Print("policies")
	for _, policy := range all {
		fields, err := policy.AsStrMap()
		if err != nil {
			return err
		}
		fmt.Print(" ", fields["name"])
	}
	fmt.Println()

	for range 3 {
		check := client.B().Arbitrary("RL.CHECK").Keys("user:11").Args("ENDPOINT", "POST /login").Build()
		d, err := client.Do(ctx, check).ToArray()
		if err != nil {
			return err
		}
		fmt.Print("check")
		for _, i := range []int{0, 1, 2, 5} { // allowed, limit, remaining, the policy
			value, err := d[i].ToAny()
			if err != nil {
				return err
			}
			fmt.Print(" ", value)
		}
		fmt.Println()
	}

	for _, addr := range addrs {
		policy, err := await(ctx, addr)
		if err != nil {
			return err
		}
		fmt.Println("node", policy["limit"], policy["window"])
	}
	reset, err := client.Do(ctx, client.B().Arbitrary("RL.RESET").Keys("user:11").Args("POLICY", "logins").Build()).AsInt64()
	if err != nil {
		return err
	}
	fmt.Println("reset", reset)
	deleted, err := client.Do(ctx, client.B().Arbitrary("RL.POLICY.DEL").Args("logins").Build()).AsInt64()
	if err != nil {
		return err
	}
	fmt.Println("deleted", deleted)
	return nil
}

func get(client valkey.Client) valkey.Completed {
	return client.B().Arbitrary("RL.POLICY.GET").Args("logins").Build()
}

// await asks until the policy is there. The node that was told has it at once;
// the others have it a moment later.
func await(ctx context.Context, addr string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	node, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{addr}, ForceSingleClient: true})
	if err != nil {
		return nil, err
	}
	defer node.Close()
	for {
		policy, err := node.Do(ctx, get(node)).AsStrMap()
		if !valkey.IsValkeyNil(err) {
			return policy, err
		}
		<-time.After(20 * time.Millisecond)
	}
}
