// Package resp speaks Redis' protocol, versions 2 and 3. A Session is one
// client: bytes in, bytes out; it has no socket, no clock and no goroutine,
// and never blocks. A driver (package resp/server) moves the bytes.
package resp

// Status says what a session needs next.
type Status int

// The statuses. Output is to be sent whatever the status is.
const (
	StatusRead  Status = iota // more input
	StatusFlush               // Output must leave, then Process goes on
	StatusWait                // Start what is pending; when it wakes, Process goes on
	StatusClose               // the session is over: send Output and close
)

// Handler runs the commands of any number of sessions. It may panic: that
// ends the session, and no other.
type Handler interface {
	// Open prepares a new session: its Context, and whether it has to
	// authenticate.
	Open(s *Session)
	// Command runs one command. It appends exactly one reply to w, or calls
	// s.Wait, s.Defer or s.AfterDeferred. args, at least one, and their bytes
	// must not be changed, and are valid until it returns.
	Command(s *Session, w *Writer, args [][]byte, now int64)
	// Settle checks, once for all decisions of a batch and right before their
	// replies leave, which of them no longer hold, and marks them Lost.
	Settle(s *Session, decided []Decided)
	// Replace appends the reply that stands in for that of a command whose
	// decision was lost. It can neither wait nor defer.
	Replace(s *Session, w *Writer, args [][]byte, now int64)
}

// Pending is a command whose reply takes time.
type Pending interface {
	// Start begins the work. It calls wake once, from any goroutine or from
	// within Start, when Finish is to be called.
	Start(wake func())
	// Finish appends the command's one reply, or calls s.Wait again. It is not
	// called if the session ends first.
	Finish(s *Session, w *Writer, now int64)
}

// Events reports what a session meets. Fields may be nil.
type Events struct {
	// Panic: a handler panicked; the session ends. Its ClientInfo.Failed names
	// the command.
	Panic func(value any, stack []byte)
}

// Session is the protocol state of one client. It is not safe for use by
// several goroutines at once, but for Info and Describe.
type Session struct {
	Context       any       // the handler's own
	Authenticated bool      // lifts the bounds of a stranger
	Reply         ReplyMode // which replies are sent

	client  client
	handler Handler
	lim     *Limits
	events  *Events

	in      input
	frames  framer
	partial bool  // a command has begun to arrive and is not complete
	since   int64 // when it was seen first

	out      Writer
	sent     int  // bytes of out that have left
	settled  int  // bytes of out that may leave
	skipping bool // no reply to the command that runs

	src     source   // the command that runs
	from    int      // where its reply begins in out; what a panic cuts
	mine    int      // where its decisions begin in decided; what a panic cuts
	args    [][]byte // reused
	batch   int      // commands run since replies last left
	decided []Decided
	pending Pending // the running command waits
	put     Pending // the running command is deferred
	late    *late   // the deferred commands; nil if there never was one
	tx      transaction
	release func() // ends the isolation of the transaction that runs

	closing bool
	why     error
}

// NewSession returns a session whose handler has opened it. lim and events are
// shared and must not change; events may be nil.
func NewSession(peer ClientInfo, h Handler, lim *Limits, events *Events) *Session {
	s := &Session{handler: h, lim: lim, events: events}
	s.client.info = peer
	s.open()
	return s
}

func (s *Session) open() {
	defer func() {
		if value := recover(); value != nil {
			s.panicked(value)
		}
	}()
	s.handler.Open(s)
}

// Buffer returns free space to read into, at least one byte. It is valid until
// the next call of a method.
func (s *Session) Buffer() []byte {
	before, keep := len(s.in.buf), maxKeptInput
	if !s.Authenticated {
		keep = maxQueryStranger
	}
	free := s.in.free(keep)
	if len(s.in.buf) < before || !s.Authenticated {
		clear(s.args[:cap(s.args)]) // they keep the large buffer alive, and words that had quotes
	}
	return free
}

// Received adds the first n bytes of Buffer to the input.
func (s *Session) Received(n int) { s.in.w += n }

// Incomplete says whether there is input that was not run: after StatusRead, a
// command that is not complete.
func (s *Session) Incomplete() bool { return s.in.r < s.in.w }

// IncompleteSince says when the command that is not complete was seen first,
// in the time of Process; ok is false if there is none.
func (s *Session) IncompleteSince() (since int64, ok bool) { return s.since, s.partial }

// Output returns the replies that may leave, valid until the next call of
// Sent or Process.
func (s *Session) Output() []byte { return s.out.buf[s.sent:s.settled] }

// maxKeptOutput is the room for replies that a session keeps between batches.
const maxKeptOutput = 64 << 10

// Sent drops the first n bytes of Output. No offset into the output outlives a
// batch, so between batches what is left may move: a peer that never takes all
// of it would else make it grow.
func (s *Session) Sent(n int) {
	s.sent += n
	if s.Barrier() {
		return
	}
	if left := len(s.out.buf) - s.sent; left > 0 {
		if s.sent > maxKeptOutput && s.sent >= left {
			s.settled -= s.sent
			s.out.Truncate(copy(s.out.buf, s.out.buf[s.sent:]))
			s.sent = 0
		}
		return
	}
	s.sent, s.settled = 0, 0
	s.out.Truncate(0)
	if cap(s.out.buf) > maxKeptOutput {
		s.out.buf = nil
	}
}

// Footprint is the memory, in bytes, of the session's buffers.
func (s *Session) Footprint() int {
	const sliceBytes, decidedBytes = 24, 72
	return len(s.in.buf) + cap(s.out.buf) + s.tx.footprint() + cap(s.args)*sliceBytes + cap(s.decided)*decidedBytes +
		s.late.footprint()
}

// Rest gives back what the session keeps only to be fast. A driver calls it,
// after StatusRead, when nothing has arrived for a while.
func (s *Session) Rest() {
	s.in.rest()
	s.args, s.decided, s.late = nil, nil, nil
	if len(s.out.buf) == 0 {
		s.out.buf = nil
	}
	s.tx.rest()
}

// Err says why the session is over: a ProtocolError, ErrForged, ErrPanic, or
// nil where it was closed.
func (s *Session) Err() error { return s.why }

// Proto is the protocol of replies: 2 or 3.
func (s *Session) Proto() int { return s.out.Proto() }

// SetProto switches the protocol, beginning with the running command's reply.
func (s *Session) SetProto(version int) { s.out.proto = version }

// EndBatch makes Process return when the running command is answered, so that
// what follows it is run at a later time.
func (s *Session) EndBatch() { s.batch = s.lim.MaxBatch }

// Close ends the session once the running command, with EXEC its whole
// transaction, is answered.
func (s *Session) Close() { s.closing = true }

// Wait says that the running command's reply takes time. The command returns
// without writing one.
func (s *Session) Wait(p Pending) { s.pending, s.put = p, nil }

// Start begins the work a session waits for, after StatusWait. wake is called
// once, from any goroutine, also from within Start; only then may Process be
// called, and Buffer not before either. Should the work panic, the session
// ends, and Process says so; wake may be called a second time then.
func (s *Session) Start(wake func()) {
	if s.late.isAwaited() {
		s.startLate(wake)
		return
	}
	defer func() {
		if value := recover(); value != nil {
			s.replyHere()
			s.panicked(value)
			wake()
		}
	}()
	s.pending.Start(wake)
}
