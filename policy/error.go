package policy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rlserver/rlserver/limit"
)

// Error says which word of a policy is wrong, and what is allowed. All errors
// about a policy's content are *Error.
type Error struct {
	Word string // such as LIMIT, or `name`
	Msg  string // what is wrong and what is allowed
}

func (e *Error) Error() string { return e.Word + " " + e.Msg }

func wrong(word, format string, args ...any) error {
	return &Error{Word: word, Msg: fmt.Sprintf(format, args...)}
}

// ofWord gives the error of a rule's numbers the policy's word.
func ofWord(err error) error {
	if arg, ok := errors.AsType[*limit.ArgError](err); ok {
		return &Error{Word: strings.ToUpper(arg.Arg), Msg: arg.Msg}
	}
	return err
}

// quote shows a value in an error: printable, and no longer than a person
// wants to read.
func quote[T string | []byte](value T) string {
	const most = 64
	if len(value) > most {
		return strconv.QuoteToASCII(string(value[:most])) + "..."
	}
	return strconv.QuoteToASCII(string(value))
}
