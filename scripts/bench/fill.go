package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
)

// fill sends command once for each of n keys, so that exactly n exist: what
// redis-benchmark draws at random repeats some and leaves out others. The
// order is random, as that in which a server meets its keys.
func fill(ctx context.Context, addr string, command []string, n int) error {
	conn, hangUp, err := dial(ctx, addr)
	if err != nil {
		return err
	}
	sent := make(chan error, 1)
	go func() { sent <- sendAll(conn, command, n) }()

	r := bufio.NewReaderSize(conn, 1<<16)
	err = readAll(r, n)
	hangUp() // ends the sender too, if it still sends
	sending := <-sent
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return cmp.Or(err, sending)
}

func readAll(r *bufio.Reader, n int) error {
	for i := range n {
		if _, err := readReply(r); err != nil {
			return fmt.Errorf("filling in key %d of %d: %w", i+1, n, err)
		}
	}
	return nil
}

func sendAll(conn io.Writer, command []string, n int) error {
	w := bufio.NewWriterSize(conn, 1<<16)
	order := rand.New(rand.NewPCG(1, 2)).Perm(n)
	var args []string
	var request []byte
	for _, key := range order {
		args = withKey(args[:0], command, key)
		request = appendCommand(request[:0], args)
		if _, err := w.Write(request); err != nil {
			return err
		}
	}
	return w.Flush()
}

// withKey appends the words of command, with key where redis-benchmark would
// put a random one.
func withKey(args, command []string, key int) []string {
	digits := fmt.Sprintf("%012d", key)
	for _, arg := range command {
		args = append(args, strings.ReplaceAll(arg, randInt, digits))
	}
	return args
}
