// Package resp speaks Redis' protocol, versions 2 and 3. A Session is one
// client: bytes in, bytes out; it has no socket, no clock and no goroutine,
// and never blocks. A driver (package resp/server) moves the bytes.
package resp

// Status says what a session needs next.
type Status int

// The statuses.
const (
	StatusRead  Status = iota // more input; send Output first if there is any
	StatusFlush               // Output must leave, then call Process again
	StatusWait                // Start the pending command; call Process when it wakes
	StatusClose               // send Output, then close
)

// Handler runs commands.
type Handler interface {
	// Open prepares a new session.
	Open(s *Session)
	// Command runs one command. It appends exactly one reply to w, or calls
	// s.Wait. args and their bytes are valid until it returns.
	Command(s *Session, w *Writer, args [][]byte, now int64)
	// Settle checks, once for all decisions of a batch and right before their
	// replies leave, which of them no longer hold, and marks them Lost.
	Settle(s *Session, decided []Decided)
	// Replace answers a command whose decision was lost.
	Replace(s *Session, w *Writer, args [][]byte, now int64)
}

// Pending is a command whose answer takes time.
type Pending interface {
	// Start begins the work. wake is called once, from any goroutine, also
	// from within Start, when Finish can be called.
	Start(wake func())
	// Finish appends the command's one reply.
	Finish(s *Session, w *Writer, now int64)
}

// Events reports what a session meets. Fields may be nil.
type Events struct {
	// Panic: a handler panicked; the session ends.
	Panic func(value any, stack []byte)
}

// ReplyMode says which replies are sent: CLIENT REPLY.
type ReplyMode int

// The modes. ReplySkip drops the next command's reply and then is ReplyOn.
const (
	ReplyOn ReplyMode = iota
	ReplyOff
	ReplySkip
)

// replySkipping is ReplySkip while the command it is meant for runs.
const replySkipping ReplyMode = 3

// Session is the protocol state of one client. It is not safe for use by
// several goroutines at once, but for what Info reads.
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
	args    [][]byte
	out     Writer
	sent    int // bytes of out that have left
	settled int // bytes of out that may leave
	batch   int // commands run since replies last left
	decided []Decided
	pending Pending
	closing bool
	tx      transaction

	src  source // the command that runs
	from int    // where its reply begins in out
}

// Buffer returns free space to read into, at least one byte.
func (s *Session) Buffer() []byte { return s.in.free() }

// Received adds the first n bytes of Buffer to the input.
func (s *Session) Received(n int) { s.in.w += n }

// Incomplete says whether a command has begun to arrive and is not complete.
func (s *Session) Incomplete() bool { return s.in.r < s.in.w }

// Output returns the replies that may leave.
func (s *Session) Output() []byte { return s.out.buf[s.sent:s.settled] }

// maxKeptOutput is the memory an idle session keeps for its next replies.
const maxKeptOutput = 4 << 10

// Sent drops the first n bytes of Output.
func (s *Session) Sent(n int) {
	s.sent += n
	if s.sent < len(s.out.buf) {
		return
	}
	s.sent, s.settled = 0, 0
	if s.out.Truncate(0); cap(s.out.buf) > maxKeptOutput && !s.Incomplete() {
		s.out.buf = nil
	}
}

// Proto is the protocol of replies: 2 or 3.
func (s *Session) Proto() int { return s.out.Proto() }

// SetProto switches the protocol, beginning with the running command's reply.
func (s *Session) SetProto(version int) { s.out.proto = version }
