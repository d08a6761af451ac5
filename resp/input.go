package resp

// Sizes of an input buffer, in bytes. It starts small, since most connections
// are idle; a peer that fills it is one that pipelines, and gets more.
const (
	firstInput   = 1 << 10
	maxKeptInput = 64 << 10 // of a peer that has authenticated
)

// input holds bytes that were received and not yet run: buf[r:w].
type input struct {
	buf  []byte
	r, w int
}

func (in *input) unread() []byte { return in.buf[in.r:in.w] }

// free returns space to read into, at least one byte. Bytes before r are gone
// then, and what is unread may have moved. It doubles the buffer only when
// what was received filled it, so it stays below twice the longest command
// that is allowed.
func (in *input) free(keep int) []byte {
	unread, full := in.w-in.r, in.w == len(in.buf)
	switch {
	case len(in.buf) > keep && unread <= firstInput/2:
		in.move(firstInput)
	case full && (len(in.buf) < keep || in.r == 0):
		in.move(max(firstInput, 2*len(in.buf)))
	case full || unread == 0:
		in.w = copy(in.buf, in.unread())
		in.r = 0
	}
	return in.buf[in.w:]
}

// rest shrinks the buffer to what a peer that is quiet needs.
func (in *input) rest() {
	if in.w == in.r {
		*in = input{}
	} else if len(in.buf) > firstInput {
		in.move(max(firstInput, in.w-in.r+1))
	}
}

func (in *input) move(size int) {
	buf := make([]byte, size)
	in.w = copy(buf, in.unread())
	in.buf, in.r = buf, 0
}
