package clients

import "testing"

// TestRedisBenchmark has nothing on stderr: without CONFIG GET there would be
// a warning.
func TestRedisBenchmark(t *testing.T) {
	t.Parallel()
	aimed := redisTool(t, "redis-benchmark")
	const speed = `: \d+\.\d+ requests per second, p50=\d+\.\d+ msec *\n`
	for _, tc := range []toolCase{
		{name: "ping", args: "-q -n 1000 -t ping", want: `.*PING_INLINE` + speed + `.*PING_MBULK` + speed + `\n`},
		{name: "one key, mostly denied", args: "-q -n 1000 RL.ALLOW a 2 1h", want: `.*RL\.ALLOW a 2 1h` + speed},
		{name: "pipelined, many keys", args: "-q -n 1000 -P 16 -r 100 RL.ALLOW k:__rand_int__ 10 1s", want: `.*RL\.ALLOW .*` + speed},
		{name: "throttle, two threads", args: "-q -n 1000 --threads 2 CL.THROTTLE b 10 1 60", want: `.*CL\.THROTTLE .*` + speed},
		{name: "RESP3, as a table", args: "-3 -n 1000 --csv RL.ALLOW a 2 1h", want: `"test","rps",.*\n"RL\.ALLOW a 2 1h","\d+\.\d+",.*\n`},
		{name: "an error ends it", args: "-q -n 1000 RL.ALLOW a", want: `.*`, stderr: `Error from server: ERR wrong number of arguments .*`, exit: 1},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, aimed) })
	}
}
