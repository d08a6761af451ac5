package resp

// Sizes of an input buffer, in bytes. It starts small, since most connections
// are idle, and grows with what arrives.
const (
	firstInput   = 1 << 10
	maxKeptInput = 16 << 10
)

// input holds bytes that were received and not yet run: buf[r:w].
type input struct {
	buf  []byte
	r, w int
}

func (in *input) unread() []byte { return in.buf[in.r:in.w] }

// free returns space to read into. It moves what is unread to the front, so
// frames found earlier are gone.
func (in *input) free() []byte {
	switch {
	case in.r == in.w:
		if in.w == len(in.buf) && len(in.buf) < maxKeptInput {
			in.buf = make([]byte, max(firstInput, 2*len(in.buf))) // it was filled: expect more
		} else if len(in.buf) > maxKeptInput {
			in.buf = make([]byte, firstInput)
		}
		in.r, in.w = 0, 0
	case len(in.buf)-in.w >= len(in.buf)/4:
	case in.r > 0:
		in.w = copy(in.buf, in.unread())
		in.r = 0
	}
	if in.w == len(in.buf) {
		grown := make([]byte, 2*len(in.buf))
		copy(grown, in.buf)
		in.buf = grown
	}
	return in.buf[in.w:]
}
