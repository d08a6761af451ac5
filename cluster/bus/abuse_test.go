package bus

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// A peer that sends what is no frame loses its connection.
func TestServeMalformed(t *testing.T) {
	whole := string(appendFrame(nil, frame{id: 1, kind: kindEcho, payload: []byte("x")}))
	for name, test := range map[string]struct {
		wire string
		want error
	}{
		"oversized": {"\x00\x10\x00\x06", ErrFrame},
		"garbage":   {"GET / HTTP/1.1\r\n\r\n", ErrFrame},
		"truncated": {whole[:len(whole)-1], io.ErrUnexpectedEOF},
		"nothing":   {"", io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := start(t), other(t)
			answers := a.answer(t, LaneDecide)
			c, err := b.Dial(t.Context(), Target{Addr: a.addr}, LaneDecide)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write([]byte(test.wire)); err != nil {
				t.Fatal(err)
			}
			if !errors.Is(test.want, ErrFrame) {
				c.Close()
			}
			if err := next(t, answers.ended); !errors.Is(err, test.want) {
				t.Errorf("ended with %v, want %v", err, test.want)
			}
			c.Close()
			client(t, b, a, LaneDecide).expect(t, kindEcho, "others are served")
		})
	}
}

// So does one that answers so; the Client comes back.
func TestMalformedAnswer(t *testing.T) {
	a, b := start(t), other(t)
	l := a.listen(t, LaneDecide)
	calls := client(t, b, a, LaneDecide)
	peer, err := l.AcceptConn()
	if err != nil {
		t.Fatal(err)
	}
	next(t, calls.up)
	call := calls.begin(t, kindEcho, "x", patience)
	if _, err := peer.Write([]byte("\xff\xff\xff\xff")); err != nil {
		t.Fatal(err)
	}
	if err := next(t, call); !errors.Is(err, ErrOutcomeUnknown) || !errors.Is(err, ErrFrame) {
		t.Errorf("got %v", err)
	}
	peer.Close()
	if peer, err = l.AcceptConn(); err != nil {
		t.Fatal(err)
	}
	peer.Close()
}

// Answers to no call, and of no known kind, harm nobody.
func TestStrayAnswers(t *testing.T) {
	a, b := start(t), other(t)
	l := a.listen(t, LaneDecide)
	calls := client(t, b, a, LaneDecide)
	peer, err := l.AcceptConn()
	if err != nil {
		t.Fatal(err)
	}
	next(t, calls.up)
	first := calls.begin(t, kindEcho, "x", patience)
	second := calls.begin(t, kindEcho, "y", patience)
	var wire []byte
	for _, f := range []frame{
		{id: 0, kind: answerReply, payload: []byte("to nobody")},
		{id: 99, kind: answerReply, payload: []byte("to nobody")},
		{id: 99, kind: answerHold, payload: []byte{0, 0, 0, 1}},
		{id: 1, kind: answerHold, payload: []byte("no time")},
		{id: 1, kind: 77, payload: []byte("x")},
		{id: 1, kind: answerReply, payload: []byte("once more")},
		{id: 2, kind: answerReply, payload: []byte("y")},
	} {
		wire = appendFrame(wire, f)
	}
	if _, err := peer.Write(wire); err != nil {
		t.Fatal(err)
	}
	if err := next(t, first); !errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("the call whose answer is of no known kind: %v", err)
	}
	if err := next(t, second); err != nil {
		t.Error(err)
	}
	peer.Close()
}

// A peer that asks and does not read the answers is cut, by the bound of the
// queue or by the time of a write, whichever comes first.
func TestPeerDoesNotRead(t *testing.T) {
	for name, most := range map[string]int{"queue": 4 << 10, "time": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, a *node, network *pipes) {
				b := other(t, func(c *Config) { c.Dial = network.dial })
				answers := a.answer(t, LaneDecide, func(c *ServeConfig) {
					c.Limits.MaxFrame, c.Limits.MaxQueue = 1<<10, most
				})
				c, err := b.Dial(t.Context(), Target{}, LaneDecide)
				if err != nil {
					t.Fatal(err)
				}
				begin := time.Now()
				ask := appendFrame(nil, frame{id: 1, kind: kindEcho, payload: make([]byte, 1<<10)})
				for range 20 {
					if _, err := c.Write(ask); err != nil {
						break
					}
				}
				err = next(t, answers.ended)
				took := time.Since(begin)
				switch name {
				case "queue":
					if took != 0 || !errors.Is(err, errQueue) {
						t.Errorf("cut after %s, with %v", took, err)
					}
				default:
					var timeout net.Error
					if took != 4*time.Second || !errors.As(err, &timeout) || !timeout.Timeout() {
						t.Errorf("cut after %s, with %v", took, err)
					}
				}
			})
		})
	}
}

// A Client whose peer does not read says so at once, and cuts it in time.
func TestServerDoesNotRead(t *testing.T) {
	inTime(t, func(t *testing.T, a *node, network *pipes) {
		b := other(t, func(c *Config) { c.Dial = network.dial })
		l := a.listen(t, LaneDecide)
		calls := client(t, b, a, LaneDecide, func(c *ClientConfig) {
			c.Limits.MaxFrame, c.Limits.MaxQueue = 1<<10, 4<<10
		})
		peer, err := l.AcceptConn()
		if err != nil {
			t.Fatal(err)
		}
		defer peer.Close()
		next(t, calls.up)
		begin := time.Now()
		var accepted []<-chan error
		for {
			result := make(chan error, 1)
			err := calls.Start(kindEcho, make([]byte, 1<<10), time.Minute, func(_ []byte, err error) { result <- err })
			if err != nil {
				if !errors.Is(err, ErrNotDone) || !errors.Is(err, errQueue) {
					t.Errorf("got %v", err)
				}
				break
			}
			synctest.Wait()
			accepted = append(accepted, result)
		}
		if len(accepted) != 4 {
			t.Errorf("%d calls were taken", len(accepted))
		}
		for i, r := range accepted {
			want := ErrNotDone
			if i == 0 { // it was being written
				want = ErrOutcomeUnknown
			}
			if err := next(t, r); !errors.Is(err, want) {
				t.Errorf("call %d: %v, want %v", i, err, want)
			}
		}
		if took := time.Since(begin); took != 4*time.Second {
			t.Errorf("cut after %s", took)
		}
		_ = l.Close()
	})
}

// Both sides bound the calls in flight, and say that the call was not done.
func TestTooManyCalls(t *testing.T) {
	a, b := start(t), other(t)
	answers := a.answer(t, LaneDecide, func(c *ServeConfig) { c.Limits.MaxCalls = 2 })
	bound := func(c *ClientConfig) { c.Limits.MaxCalls = 3 }
	calls := client(t, b, a, LaneDecide, bound)
	next(t, calls.up)
	one := calls.begin(t, kindLater, "1", patience)
	two := calls.begin(t, kindLater, "2", patience)
	if err := next(t, calls.begin(t, kindEcho, "3", patience)); !errors.Is(err, ErrNotDone) {
		t.Errorf("the peer's bound: %v", err)
	}
	answers.release()
	for _, r := range []<-chan error{one, two} {
		if err := next(t, r); err != nil {
			t.Error(err)
		}
	}
	for range 100 {
		calls.expect(t, kindEcho, "there is room again")
	}

	wide := a.answer(t, LaneControl)
	calls = client(t, b, a, LaneControl, bound)
	next(t, calls.up)
	for range 3 {
		calls.begin(t, kindLater, "", patience)
	}
	if err := calls.Start(kindEcho, nil, patience, nil); !errors.Is(err, ErrNotDone) || !errors.Is(err, errCalls) {
		t.Errorf("the own bound: %v", err)
	}
	wide.release()
}

func TestCallsValidate(t *testing.T) {
	n := newNode(t)
	for name, change := range map[string]func(*ClientConfig){
		"bus":     func(c *ClientConfig) { c.Bus = nil },
		"target":  func(c *ClientConfig) { c.Target = nil },
		"lane":    func(c *ClientConfig) { c.Lane = 0 },
		"dial":    func(c *ClientConfig) { c.DialTimeout = 0 },
		"call":    func(c *ClientConfig) { c.CallTimeout = 0 },
		"silence": func(c *ClientConfig) { c.SilenceLimit = 0 },
		"pause":   func(c *ClientConfig) { c.FirstPause = 0 },
		"longest": func(c *ClientConfig) { c.LongestPause = 0 },
		"frame":   func(c *ClientConfig) { c.Limits.MaxFrame = -1 },
		"queue":   func(c *ClientConfig) { c.Limits.MaxQueue = c.Limits.MaxFrame },
		"calls":   func(c *ClientConfig) { c.Limits.MaxCalls = 0 },
		"hold":    func(c *ClientConfig) { c.Limits.MaxHold = -1 },
		"write":   func(c *ClientConfig) { c.Limits.WriteTimeout = 0 },
	} {
		cfg := DefaultClientConfig()
		cfg.Bus, cfg.Lane, cfg.Target = n.Bus, LaneDecide, func() Target { return Target{} }
		change(&cfg)
		if c, err := NewClient(cfg); err == nil {
			c.Close()
			t.Errorf("%s: accepted", name)
		}
	}
	l := n.listen(t, LaneRaft)
	if err := ServeCalls(l, ServeConfig{Limits: DefaultCallLimits()}); err == nil || errors.Is(err, ErrClosed) {
		t.Errorf("no handler: %v", err)
	}
	if err := ServeCalls(l, ServeConfig{Handler: new(callee).handle}); err == nil || errors.Is(err, ErrClosed) {
		t.Errorf("no limits: %v", err)
	}
}
