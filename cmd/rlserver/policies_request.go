package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"unicode"

	"github.com/rlserver/rlserver/policy"
)

// maxAnswer bounds what the server answers.
const maxAnswer = 256 << 20 // bytes

// request is one about the server's policies.
type request struct {
	method  string
	query   url.Values
	body    []byte
	changes bool // it may change something
}

// ask returns the text of the answer to a request that the server did. Errors
// say what to do; where the server may yet have changed something they wrap
// policy.ErrOutcomeUnknown.
func (r *remote) ask(ctx context.Context, q request) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	sent := &upload{rest: bytes.NewReader(q.body)}
	req, err := http.NewRequestWithContext(ctx, q.method, r.policies+"?"+q.query.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	if len(q.body) > 0 {
		req.Body, req.ContentLength = sent, int64(len(q.body))
		req.Header.Set("Expect", "100-continue")
	}
	if r.password != "" {
		req.SetBasicAuth(r.user, r.password)
	}
	answer, err := r.http.Do(req)
	if err != nil {
		return nil, unknownIf(q.changes && sent.whole.Load(), r.failure(err))
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if answer.StatusCode != http.StatusOK {
		return nil, unknownIf(q.changes && sent.whole.Load() && !certain(answer), r.refusal(answer, text))
	}
	if err != nil {
		return nil, unknownIf(q.changes, r.failure(err))
	}
	return text, nil
}

// foreign is for an answer of status 200 that makes no sense.
func (r *remote) foreign(changes bool) error {
	return unknownIf(changes, fmt.Errorf("%s does not answer as rlserver does: is --url the server's --admin-addr, and is it as new as this program?", r.policies))
}

// upload is a body that knows whether all of it was taken to be sent: a server
// that lacks a part of it changes nothing.
type upload struct {
	rest  *bytes.Reader
	whole atomic.Bool
}

// Read implements io.Reader.
func (u *upload) Read(b []byte) (int, error) {
	n, err := u.rest.Read(b)
	if u.rest.Len() == 0 {
		u.whole.Store(true)
	}
	return n, err
}

// Close implements io.Closer.
func (u *upload) Close() error { return nil }

// unknownIf turns the reason why there is no certain answer into what it means
// for a request that was sent.
func unknownIf(sent bool, err error) error {
	if !sent {
		return err
	}
	return fmt.Errorf("%w: %w\nThe policies were sent: they may be in force, or come into force yet. "+
		"Look with --dry-run, or apply them again, which does no harm", policy.ErrOutcomeUnknown, err)
}

// failure says why there was no answer, and what to do.
func (r *remote) failure(err error) error {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err // it repeats the URL
	}
	hint := ""
	alert, isNet := errors.AsType[*net.OpError](err)
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: no answer within %s (--timeout)", r.policies, r.timeout)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: interrupted before the answer came", r.policies)
	case unverified:
		hint = ": --ca names the file with the authority of the server's certificate"
	case isNet && alert.Op == "remote error" && strings.Contains(alert.Err.Error(), "certificate"):
		hint = ": the server wants a certificate of an authority that it knows: --cert and --key"
	case errors.Is(err, http.ErrSchemeMismatch):
		hint = ": --url must begin with http:// unless the server has --admin-tls"
	case errors.Is(err, syscall.ECONNREFUSED):
		hint = ": is the server running, and is --url its --admin-addr?"
	}
	return fmt.Errorf("%s: %w%s", r.policies, err, hint)
}

// certain says whether an answer other than 200 means that nothing was changed.
// A proxy on the way may answer 5xx for a server that goes on.
func certain(answer *http.Response) bool {
	switch {
	case answer.StatusCode < http.StatusInternalServerError:
		return true
	case answer.StatusCode == http.StatusServiceUnavailable:
		return answer.Header.Get("Content-Type") == "application/problem+json" // ours
	}
	return false
}

// refusal says what the server answered instead of 200, and what to do.
func (r *remote) refusal(answer *http.Response, text []byte) error {
	var problem struct{ Detail string }
	said := string(text)
	if json.Unmarshal(text, &problem) == nil && problem.Detail != "" {
		said = problem.Detail
	}
	const most = 1000 // bytes: a page of a proxy helps nobody
	said = visible(strings.TrimSpace(said[:min(len(said), most)]))
	if said == "" {
		said = http.StatusText(answer.StatusCode)
	}
	hint := ""
	switch status := answer.StatusCode; {
	case status == http.StatusUnauthorized && r.password == "":
		hint = fmt.Sprintf(": --user, and --password-file or %s in the environment", adminPasswordVariable)
	case status == http.StatusUnauthorized:
		hint = fmt.Sprintf(": the server does not let in user %q with this password", r.user)
	case status == http.StatusForbidden:
		hint = " (who applies needs the rights of @admin, who exports those of @read)"
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		hint = ": is --url the server's --admin-addr, and is it as new as this program?"
	case status == http.StatusServiceUnavailable:
		hint = "; try again"
	case status >= http.StatusMultipleChoices && status < http.StatusBadRequest:
		hint = fmt.Sprintf(": redirects are not followed; --url may have to be that of %q", answer.Header.Get("Location"))
	}
	return fmt.Errorf("%s answers %d: %s%s", r.policies, answer.StatusCode, said, hint)
}

// visible is text of somebody else's for a terminal: without what moves the
// cursor.
func visible(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return ' '
	}, text)
}
