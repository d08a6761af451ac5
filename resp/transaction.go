package resp

import "strconv"

// transaction is the state of MULTI. Queued commands are kept as frames, so
// that they run just as if they had arrived when EXEC did.
type transaction struct {
	open    bool // between MULTI and EXEC
	dirty   bool // a command was refused while queueing
	running bool // EXEC runs the queue
	frames  []byte
	ends    []int // of each frame
	next    int   // the frame to run
	first   int   // of this transaction in ends; earlier ones wait to be settled
}

// Errors of transactions, in Redis' words.
const (
	errNestedMulti    = "ERR MULTI calls can not be nested"
	errExecNoMulti    = "ERR EXEC without MULTI"
	errDiscardNoMulti = "ERR DISCARD without MULTI"
	errExecAbort      = "EXECABORT Transaction discarded because of previous errors."
)

// InMulti says whether commands are being queued.
func (s *Session) InMulti() bool { return s.tx.open }

// Multi begins a transaction, and writes the reply.
func (s *Session) Multi(w *Writer) {
	if s.tx.open {
		w.Error(errNestedMulti)
		return
	}
	s.tx.open, s.tx.dirty, s.tx.first = true, false, len(s.tx.ends)
	w.Simple("OK")
}

// MarkDirty makes EXEC fail, since a command could not be queued. Outside of
// a transaction it does nothing.
func (s *Session) MarkDirty() { s.tx.dirty = s.tx.dirty || s.tx.open }

// Queue keeps a command for EXEC, and writes the reply.
func (s *Session) Queue(w *Writer, args [][]byte) {
	tx := &s.tx
	if len(tx.ends)-tx.first >= s.lim.MaxMulti {
		s.MarkDirty()
		w.Error("ERR a transaction holds at most " + strconv.Itoa(s.lim.MaxMulti) + " commands")
		return
	}
	before := tx.start(len(tx.ends))
	frames := Writer{buf: tx.frames}
	frames.Array(len(args))
	for _, arg := range args {
		frames.Bulk(arg)
	}
	if len(frames.buf)-tx.start(tx.first) > s.lim.MaxQuery {
		tx.frames = frames.buf[:before]
		s.MarkDirty()
		w.Error("ERR a transaction holds at most " + strconv.Itoa(s.lim.MaxQuery) + " bytes")
		return
	}
	tx.frames = frames.buf
	tx.ends = append(tx.ends, len(tx.frames))
	w.Simple("QUEUED")
}

// Exec writes the head of the reply, and makes the session take its next
// commands from the queue.
func (s *Session) Exec(w *Writer) {
	tx := &s.tx
	switch {
	case !tx.open:
		w.Error(errExecNoMulti)
	case tx.dirty:
		s.Abandon()
		w.Error(errExecAbort)
	default:
		tx.open = false
		tx.next = tx.first
		tx.running = tx.next < len(tx.ends)
		w.Array(len(tx.ends) - tx.first)
	}
}

// Discard drops the queue, and writes the reply.
func (s *Session) Discard(w *Writer) {
	if !s.tx.open {
		w.Error(errDiscardNoMulti)
		return
	}
	s.Abandon()
	w.Simple("OK")
}

// Abandon leaves MULTI, if the session is in it.
func (s *Session) Abandon() {
	if !s.tx.open {
		return
	}
	s.tx.frames = s.tx.frames[:s.tx.start(s.tx.first)]
	s.tx.ends = s.tx.ends[:s.tx.first]
	s.tx.open, s.tx.dirty = false, false
}

// start is where frame i begins.
func (t *transaction) start(i int) int {
	if i == 0 {
		return 0
	}
	return t.ends[i-1]
}

// pop takes the next frame to run.
func (t *transaction) pop() (from, to int) {
	from, to = t.start(t.next), t.ends[t.next]
	t.next++
	t.running = t.next < len(t.ends)
	return from, to
}

// maxKeptQueue is the memory an idle session keeps for its next transaction.
const maxKeptQueue = 4 << 10

// settle drops the frames of transactions that are over.
func (t *transaction) settle() {
	switch {
	case t.running:
	case t.open:
		over := t.start(t.first)
		t.frames = append(t.frames[:0], t.frames[over:]...)
		t.ends = append(t.ends[:0], t.ends[t.first:]...)
		for i := range t.ends {
			t.ends[i] -= over
		}
		t.first = 0
	case cap(t.frames) > maxKeptQueue:
		*t = transaction{}
	default:
		t.frames, t.ends, t.first, t.next = t.frames[:0], t.ends[:0], 0, 0
	}
}
