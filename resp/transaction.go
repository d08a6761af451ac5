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

// InMulti says whether commands are being queued.
func (s *Session) InMulti() bool { return s.tx.open }

// Multi begins a transaction, and writes the reply.
func (s *Session) Multi(w *Writer) {
	if s.tx.open {
		w.Error(errMultiNested)
		return
	}
	s.tx.open, s.tx.dirty, s.tx.first = true, false, len(s.tx.ends)
	s.client.queued.Store(1)
	w.Simple("OK")
}

// MarkDirty makes EXEC fail, since a command could not be queued. Outside of
// a transaction it does nothing.
func (s *Session) MarkDirty() { s.tx.dirty = s.tx.dirty || s.tx.open }

// Queue keeps a command for EXEC, and writes the reply. One that is over a
// bound makes EXEC fail.
func (s *Session) Queue(w *Writer, args [][]byte) {
	tx := &s.tx
	if len(tx.ends)-tx.first >= s.lim.MaxMulti {
		s.MarkDirty()
		w.Error(errMultiTooMany + strconv.Itoa(s.lim.MaxMulti) + " commands")
		return
	}
	before := len(tx.frames)
	frames := Writer{buf: tx.frames}
	frames.Array(len(args))
	for _, arg := range args {
		frames.Bulk(arg)
	}
	tx.frames = frames.buf
	if len(tx.frames)-tx.start(tx.first) > s.lim.MaxQuery {
		tx.frames = tx.frames[:before]
		s.MarkDirty()
		w.Error(errMultiTooLong + strconv.Itoa(s.lim.MaxQuery) + " bytes")
		return
	}
	tx.ends = append(tx.ends, len(tx.frames))
	s.client.queued.Add(1)
	w.Simple("QUEUED")
}

// Exec writes the head of the reply, and makes the session take its next
// commands from the queue.
func (s *Session) Exec(w *Writer) {
	tx := &s.tx
	switch {
	case !tx.open:
		w.Error(errExecWithoutMulti)
	case tx.dirty:
		s.Abandon()
		w.Error(errExecAbort)
	default:
		tx.open = false
		s.client.queued.Store(0)
		tx.next = tx.first
		tx.running = tx.next < len(tx.ends)
		w.Array(len(tx.ends) - tx.first)
	}
}

// Discard drops the queue, and writes the reply.
func (s *Session) Discard(w *Writer) {
	if !s.tx.open {
		w.Error(errDiscardWithoutMulti)
		return
	}
	s.Abandon()
	w.Simple("OK")
}

// Abandon leaves MULTI, if the session is in it.
func (s *Session) Abandon() {
	tx := &s.tx
	if !tx.open {
		return
	}
	tx.frames = tx.frames[:tx.start(tx.first)]
	tx.ends = tx.ends[:tx.first]
	tx.open, tx.dirty = false, false
	s.client.queued.Store(0)
}

// InExec says whether the running command was queued in a transaction.
func (s *Session) InExec() bool { return s.src.queued }

// Isolate is for a queued command that keeps others away for the rest of its
// transaction. release is called once: when the transaction is over, or before
// Process returns, since nobody must be kept waiting while replies leave.
func (s *Session) Isolate(release func()) { s.release = release }

// EndIsolation calls the release of Isolate, if that is still to come.
func (s *Session) EndIsolation() {
	if release := s.release; release != nil {
		s.release = nil
		release()
	}
}

// start is where frame i begins.
func (t *transaction) start(i int) int {
	if i == 0 {
		return 0
	}
	return t.ends[i-1]
}

// pop takes the next frame to run.
func (t *transaction) pop() source {
	src := source{queued: true, from: t.start(t.next), to: t.ends[t.next]}
	t.next++
	t.running = t.next < len(t.ends)
	return src
}

// maxKeptQueue is the room, in bytes, that a session keeps between
// transactions.
const maxKeptQueue = 64 << 10

// settle drops the frames of transactions that are over.
func (t *transaction) settle() {
	switch {
	case t.running:
	case t.open:
		t.dropFirst()
	case cap(t.frames) > maxKeptQueue:
		*t = transaction{}
	default:
		t.frames, t.ends, t.first = t.frames[:0], t.ends[:0], 0
	}
}

// dropFirst drops the frames before those of the open transaction.
func (t *transaction) dropFirst() {
	if t.first == 0 {
		return
	}
	over := t.start(t.first)
	t.frames = append(t.frames[:0], t.frames[over:]...)
	t.ends = append(t.ends[:0], t.ends[t.first:]...)
	for i := range t.ends {
		t.ends[i] -= over
	}
	t.first = 0
}

// footprint is the memory of the queue, in bytes.
func (t *transaction) footprint() int {
	const intBytes = 8
	return cap(t.frames) + cap(t.ends)*intBytes
}

// rest gives back what an empty queue keeps.
func (t *transaction) rest() {
	if !t.open {
		*t = transaction{}
	}
}
