package bus

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// Condition is what a reply depends on. Holds is asked once, on the
// connection's own goroutine, right before the reply is written; it must not
// block.
type Condition interface {
	Holds() bool
}

// errQueue means that the peer does not take what is sent as fast as it comes.
var errQueue = errors.New("bus: the queue to the peer is full")

// spareSize is the memory that an outbox keeps when it is empty, in bytes, for
// each of its two buffers.
const spareSize = 64 << 10

// outbox gathers frames while a write runs; the next write takes them all. Many
// goroutines add, one writes.
type outbox struct {
	conn    *Conn
	max     int // bytes that may wait
	timeout time.Duration
	wake    chan struct{} // something was added to an empty outbox

	mu      sync.Mutex
	waiting []byte
	ifs     []conditional
	handed  uint64 // bytes that were given to the connection, written or not
	err     error  // why it ends: nothing can be added

	// The writer's own.
	spare    []byte
	deadline time.Time
}

// conditional is a reply that may have to be withdrawn: its frame begins at
// offset at.
type conditional struct {
	at        int
	condition Condition
}

func newOutbox(conn *Conn, maxBytes int, timeout time.Duration) *outbox {
	return &outbox{conn: conn, max: maxBytes, timeout: timeout, wake: make(chan struct{}, 1)}
}

// add queues a frame, and returns its place among all bytes of the connection.
// What fails is not sent.
func (o *outbox) add(f frame, c Condition) (place uint64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	at := len(o.waiting)
	if at+lengthBytes+headBytes+len(f.payload) > o.max {
		return 0, errQueue
	}
	o.waiting = appendFrame(o.waiting, f)
	if c != nil {
		o.ifs = append(o.ifs, conditional{at: at, condition: c})
	}
	if at == 0 {
		select {
		case o.wake <- struct{}{}:
		default:
		}
	}
	return o.handed + uint64(at), nil
}

// run writes until it fails or done is closed.
func (o *outbox) run(done <-chan struct{}) error {
	var ifs []conditional
	for {
		select {
		case <-done:
			return nil
		case <-o.wake:
		}
		o.mu.Lock()
		batch := o.waiting
		o.waiting, ifs = o.spare[:0], append(ifs[:0], o.ifs...)
		clear(o.ifs)
		o.ifs = o.ifs[:0]
		o.handed += uint64(len(batch))
		o.mu.Unlock()

		for _, c := range ifs {
			if !c.condition.Holds() {
				batch[c.at+kindOffset] = answerWithdrawn
			}
		}
		clear(ifs)
		if err := o.write(batch); err != nil {
			return err
		}
		if o.spare = batch[:0]; cap(batch) > spareSize {
			o.spare = nil
		}
	}
}

// write bounds the write. To set a deadline costs more than a small frame, so
// it is set too late, and seldom.
func (o *outbox) write(b []byte) error {
	now := o.conn.bus.cfg.Now()
	if o.deadline.Sub(now) < o.timeout {
		o.deadline = now.Add(2 * o.timeout)
		if err := o.conn.SetWriteDeadline(o.deadline); err != nil {
			return err
		}
	}
	if _, err := o.conn.Write(b); err != nil {
		return fmt.Errorf("bus: write: %w", err)
	}
	return nil
}

// pump reads and writes until one of them fails or end is called, and returns
// the first cause. Then nothing can be added, and what is not handed over is
// not sent.
func (o *outbox) pump(read func() error) error {
	done := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		if err := o.run(done); err != nil {
			o.end(err)
		}
	})
	o.end(read())
	close(done)
	writer.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// end cuts the connection; the first cause counts.
func (o *outbox) end(cause error) {
	o.mu.Lock()
	if o.err == nil {
		o.err = cause
	}
	o.mu.Unlock()
	_ = o.conn.Close() // reader and writer see it
}

// sent says how many bytes may have reached the peer, once pump has returned.
func (o *outbox) sent() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.handed
}
