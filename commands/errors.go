package commands

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rlserver/rlserver/limit"
)

// replyError is an error whose text is the whole error line, code included.
type replyError string

func (e replyError) Error() string { return string(e) }

// Redis' own texts, word for word: clients match on them.
const (
	errSyntax          = replyError("ERR syntax error")
	errNotInteger      = replyError("ERR value is not an integer or out of range")
	errTimeout         = replyError("ERR timeout is not an integer or out of range")
	errTimeoutNegative = replyError("ERR timeout is negative")
	errNotInt32        = replyError("ERR value is out of range, value must between -2147483648 and 2147483647")
)

// bound is one that an operator chose. Who asks for more is counted.
type bound int

const (
	boundKey bound = iota // a key over MaxKey
	boundLog              // a sliding-log over Bounds.MaxLog
	bounds
)

// overBound is the error of a request beyond a bound.
type overBound struct {
	replyError

	bound bound
}

func (e overBound) Unwrap() error { return e.replyError }

func errorf(format string, a ...any) error {
	return replyError("ERR " + fmt.Sprintf(format, a...))
}

// replyText turns any error a command returns into its error line.
func replyText(err error) string {
	var reply replyError
	if errors.As(err, &reply) {
		return string(reply)
	}
	var arg *limit.ArgError
	if errors.As(err, &arg) {
		return "ERR " + arg.Error()
	}
	return "ERR " + err.Error()
}

func errorCode(code, format string, a ...any) error {
	return replyError(code + " " + fmt.Sprintf(format, a...))
}

// wrongArity is Redis' text for a command that takes fewer or more words.
func wrongArity(e *entry) error {
	return replyError("ERR wrong number of arguments for '" + e.full + "' command")
}

// subcommandSyntax is Redis' text for a subcommand with too many words.
func (c *Call) subcommandSyntax() error {
	container, _, _ := strings.Cut(c.entry.full, "|")
	return replyError("ERR unknown subcommand or wrong number of arguments for '" + clean(c.Args[1], 128) + "'. Try " + strings.ToUpper(container) + " HELP.")
}

// unknownSubcommand is Redis' text for a subcommand that does not exist.
func unknownSubcommand(container *entry, word []byte) error {
	return replyError("ERR unknown subcommand '" + clean(word, 128) + "'. Try " + strings.ToUpper(container.full) + " HELP.")
}
