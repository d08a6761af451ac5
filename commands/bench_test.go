package commands_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rlserver/rlserver/resp"
)

// BenchmarkAllow measures a whole decision but for the socket: bytes in,
// framed, parsed, decided over 1,000,000 keys, encoded, bytes out. One
// operation is one RL.ALLOW.
func BenchmarkAllow(b *testing.B) {
	const keys = 1_000_000
	for _, depth := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("pipeline=%d", depth), func(b *testing.B) {
			w := newWorld(b)
			w.store.SetMaxMemory(1 << 30)
			s, random := w.session, rand.New(rand.NewPCG(3, 4))
			var batch []byte
			send := func(n int) {
				s.Received(copy(s.Buffer(), batch))
				for s.Incomplete() && s.Process(w.now) == resp.StatusFlush {
					s.Sent(len(s.Output()))
				}
				s.Sent(len(s.Output()))
				w.now += int64(n)
				batch = batch[:0]
			}
			command := func(key int) {
				batch = fmt.Appendf(batch, "*4\r\n$8\r\nRL.ALLOW\r\n$16\r\nkey:%012d\r\n$3\r\n100\r\n$2\r\n60\r\n", key)
			}
			for key := range keys {
				command(key)
				send(1)
			}
			// The batches are made beforehand, so that only the server is timed.
			made := make([][]byte, 4096)
			for i := range made {
				for range depth {
					command(random.IntN(keys))
				}
				made[i], batch = batch, nil
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += depth {
				batch = append(batch[:0], made[i/depth%len(made)]...)
				send(depth)
			}
		})
	}
}
