// Command clustered asks for limits through the clients of clusters: go-redis or
// rueidis, as its third argument says.
package main

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

const (
	keys    = 30
	clients = 5
)

// limiter is what both libraries can do.
type limiter interface {
	// ask sends commands of a name, a key and other words one after the other.
	ask(ctx context.Context, command [][]string) (allowed int, err error)
	// pipeline sends them together.
	pipeline(ctx context.Context, commands [][]string) (allowed int, err error)
	close()
}

func main() {
	host, port, library := os.Args[1], os.Args[2], os.Args[3]
	open := newGoRedis // of one node, from which it learns the others
	if library == "rueidis" {
		open = newRueidis
	}
	l, err := open(net.JoinHostPort(host, port))
	if err == nil {
		err = run(context.Background(), l)
		l.close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, l limiter) error {
	// Two requests an hour, for keys that all nodes count.
	for range 3 {
		allowed, err := l.ask(ctx, commands(keys, "RL.ALLOW", "user", "2", "1h"))
		if err != nil {
			return err
		}
		fmt.Println("allow", allowed)
	}
	allowed, err := l.pipeline(ctx, commands(keys, "RL.ALLOW", "pipeline", "2", "1h"))
	if err != nil {
		return err
	}
	fmt.Println("pipeline", allowed)
	if allowed, err = l.ask(ctx, commands(clients, "RL.CHECK", "client")); err != nil {
		return err
	}
	fmt.Println("check", allowed)
	return nil
}

// commands are the same for n keys.
func commands(n int, name, key string, more ...string) (all [][]string) {
	for i := range n {
		all = append(all, append([]string{name, fmt.Sprintf("%s:%d", key, i)}, more...))
	}
	return all
}

// goRedis asks COMMAND where the keys are.
type goRedis struct{ client *redis.ClusterClient }

func newGoRedis(addr string) (limiter, error) {
	return goRedis{redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}})}, nil
}

func (g goRedis) close() { _ = g.client.Close() }

func (g goRedis) ask(ctx context.Context, commands [][]string) (allowed int, err error) {
	for _, words := range commands {
		d, err := g.client.Do(ctx, args(words)...).Slice()
		if err != nil {
			return 0, err
		}
		allowed += int(d[0].(int64))
	}
	return allowed, nil
}

func (g goRedis) pipeline(ctx context.Context, commands [][]string) (allowed int, err error) {
	pipe := g.client.Pipeline()
	for _, words := range commands {
		pipe.Do(ctx, args(words)...)
	}
	replies, err := pipe.Exec(ctx)
	for _, reply := range replies {
		if d, ok := reply.(*redis.Cmd).Val().([]any); ok {
			allowed += int(d[0].(int64))
		}
	}
	return allowed, err
}

func args(words []string) (all []any) {
	for _, word := range words {
		all = append(all, word)
	}
	return all
}

// rueidisClient is told where the keys are. It finds out by itself that it
// speaks with a cluster.
type rueidisClient struct{ client rueidis.Client }

func newRueidis(addr string) (limiter, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
	return rueidisClient{client}, err
}

func (r rueidisClient) close() { r.client.Close() }

func (r rueidisClient) ask(ctx context.Context, commands [][]string) (allowed int, err error) {
	for _, words := range commands {
		n, err := r.pipeline(ctx, [][]string{words})
		if err != nil {
			return 0, err
		}
		allowed += n
	}
	return allowed, nil
}

func (r rueidisClient) pipeline(ctx context.Context, commands [][]string) (allowed int, err error) {
	var all []rueidis.Completed
	for _, words := range commands {
		all = append(all, r.client.B().Arbitrary(words[0]).Keys(words[1]).Args(words[2:]...).Build())
	}
	for _, reply := range r.client.DoMulti(ctx, all...) {
		d, err := reply.ToArray()
		if err != nil {
			return 0, err
		}
		n, err := d[0].AsInt64()
		if err != nil {
			return 0, err
		}
		allowed += int(n)
	}
	return allowed, nil
}
