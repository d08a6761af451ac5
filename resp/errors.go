package resp

import (
	"errors"
	"strings"
)

// ProtocolError is input that is not the protocol, or is over a bound. It is
// answered with one error line, and ends the session. It holds the text
// behind `ERR Protocol error: `.
type ProtocolError string

func (e ProtocolError) Error() string { return "ERR Protocol error: " + string(e) }

// Stranger says whether the bound is one of those who have not authenticated.
func (e ProtocolError) Stranger() bool { return strings.HasPrefix(string(e), "unauthenticated ") }

// What ends a session, besides a ProtocolError and its own Close.
var (
	// ErrForged is HTTP: a browser was tricked into posting commands to this
	// port. Nothing is answered.
	ErrForged = errors.New("resp: POST or Host: instead of a command")
	// ErrPanic is a handler that panicked. The client learns no more than that.
	ErrPanic = errors.New("resp: a handler panicked")
)

// Redis' own texts: clients match on them.
const (
	errMultibulkLength   ProtocolError = "invalid multibulk length"
	errMultibulkStranger ProtocolError = "unauthenticated multibulk length"
	errMultibulkHeader   ProtocolError = "too big mbulk count string"
	errBulkLength        ProtocolError = "invalid bulk length"
	errBulkStranger      ProtocolError = "unauthenticated bulk length"
	errBulkHeader        ProtocolError = "too big bulk count string"
	errInlineTooBig      ProtocolError = "too big inline request"
	errQuotes            ProtocolError = "unbalanced quotes in request"

	errMultiNested         = "ERR MULTI calls can not be nested"
	errExecWithoutMulti    = "ERR EXEC without MULTI"
	errDiscardWithoutMulti = "ERR DISCARD without MULTI"
	errExecAbort           = "EXECABORT Transaction discarded because of previous errors."
)

// Texts for what Redis does not have.
const (
	errCommandTooLong  ProtocolError = "too big command"
	errCommandStranger ProtocolError = "unauthenticated command length"
	errInlineStranger  ProtocolError = "unauthenticated inline length"

	errInternal     = "ERR internal error"
	errMultiTooMany = "ERR a transaction holds at most " // number of commands
	errMultiTooLong = "ERR a transaction holds at most " // number of bytes
)

// errExpectedBulk tells what came where a `$` should have been.
func errExpectedBulk(got byte) ProtocolError {
	return ProtocolError("expected '$', got '" + string([]byte{got}) + "'")
}
