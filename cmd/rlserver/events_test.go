package main

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rlserver/rlserver/commands"
	"github.com/rlserver/rlserver/limit"
	"github.com/rlserver/rlserver/resp"
)

// TestPausedServerStops: a pause holds clients back, and neither it nor those
// who wait in it keep the server from stopping.
func TestPausedServerStops(t *testing.T) {
	s := startServer(t, "--drain-timeout", "1h")
	admin, waits := dial(t, s.addr, nil), dial(t, s.addr, nil)
	admin.expect(t, "CLIENT PAUSE 50 WRITE", "+OK")
	waits.expect(t, "RL.ALLOW k 2 1h", "[:1 :2 :1 :0 :1800000]")
	admin.expect(t, "CLIENT PAUSE 3600000 WRITE", "+OK")
	waits.expect(t, "PING", "+PONG")
	// It waits when the server is told to stop, or is on its way: the drain takes both.
	if _, err := waits.Write([]byte(encode("RL.ALLOW k 2 1h"))); err != nil {
		t.Fatal(err)
	}
	s.stop(t)
	if reply, err := waits.reply(); err != nil || !strings.HasPrefix(reply, "[:1 :2 :0 :0 ") {
		t.Errorf("who waited got %s, %v", reply, err)
	}
}

// TestSweeperEvents: a step of the sweeper that takes long is an event, and
// another one where buckets were evicted since the one before.
func TestSweeperEvents(t *testing.T) {
	var cfg config
	cfg.set = cfg.flags()
	cfg.maxMemory = minMemory
	store, err := newStore(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	now := func() int64 { return 1e18 }
	n := newNode(&cfg, store, now(), func() {})
	w := newWatch(n, alwaysReady, now)
	w.dispatcher, err = commands.New(commands.Config{
		Buckets: buckets{store}, Ownership: soleOwner{}, Server: n, Users: commands.OpenUsers, Clock: now,
		After: func(int64, func()) {}, Bounds: limit.DefaultBounds(), MaxKey: commands.DefaultMaxKey,
	})
	if err != nil {
		t.Fatal(err)
	}
	limits := resp.DefaultLimits()
	session := resp.NewSession(resp.ClientInfo{}, w.dispatcher, &limits, nil)
	ask := func(command string) string {
		session.Received(copy(session.Buffer(), command+"\r\n"))
		session.Process(now())
		reply := string(session.Output())
		session.Sent(len(reply))
		return reply
	}
	ask("CONFIG SET latency-monitor-threshold 10")
	const second, ms = int64(time.Second), int64(time.Millisecond)
	w.swept(1*second, 1*second+9*ms)
	w.swept(2*second, 2*second+20*ms)
	for i := 0; store.Stats().EvictedNotFull == 0; i++ {
		ask("RL.ALLOW key:" + strconv.Itoa(i) + " 1 1h")
	}
	w.swept(3*second, 3*second+30*ms)
	w.swept(4*second, 4*second+15*ms)
	got := ask("LATENCY LATEST")
	want := "*2\r\n*4\r\n$8\r\neviction\r\n:3\r\n:30\r\n:30\r\n*4\r\n$5\r\nsweep\r\n:4\r\n:15\r\n:20\r\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if at := w.sweptAt.Load(); at != 4*second {
		t.Errorf("swept at %d", at)
	}
}
