package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/rlserver/rlserver/policy"
)

// problem is an error with the status that it is answered with.
type problem struct {
	status int
	err    error
}

func (p *problem) Error() string { return p.err.Error() }
func (p *problem) Unwrap() error { return p.err }

func refused(status int, format string, args ...any) error {
	return &problem{status, fmt.Errorf(format, args...)}
}

// writeProblem answers an error as RFC 9457 has it. A write that changed
// nothing because nobody could is worth another try soon; one whose outcome is
// unknown has to be looked at first.
func writeProblem(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	if p, ok := errors.AsType[*problem](err); ok {
		status = p.status
	} else if _, ok := errors.AsType[*policy.VersionError](err); ok {
		status = http.StatusPreconditionFailed
	} else if errors.Is(err, policy.ErrNotWritten) {
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
	} else if errors.Is(err, policy.ErrOutcomeUnknown) {
		status = http.StatusGatewayTimeout
	}
	text, _ := json.Marshal(struct { // strings and a number always have a text
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{http.StatusText(status), status, err.Error()})
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may have gone
}

func writeJSON(w http.ResponseWriter, status int, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may have gone
}

// jsonText is s as JSON, readable: nothing here is put into HTML.
func jsonText(s string) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a string always has a text
	return bytes.TrimSpace(text.Bytes())
}
