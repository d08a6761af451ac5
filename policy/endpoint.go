package policy

import (
	"bytes"
	"strings"
	"unicode"
)

// pattern is an ENDPOINT such as `POST /api/*`.
type pattern struct {
	method   string   // empty: any
	path     string   // as it was given
	segments []string // between the slashes; nil if the path has no wildcard
	literals int      // how many segments stand before the first wildcard
}

// The wildcards: one segment, and any number of them at the end.
const (
	oneSegment  = "*"
	anySegments = "**"
)

func (p *pattern) exact() bool { return p.segments == nil }

// parsePattern reads an ENDPOINT. Errors are *Error.
func parsePattern(text string) (*pattern, error) {
	const word = "ENDPOINT"
	if err := checkText(word, text, 1, MaxEndpoint); err != nil {
		return nil, err
	}
	p := &pattern{path: text}
	if method, path, found := strings.Cut(text, " "); found {
		p.method, p.path = method, path
		if strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "" || method == "" {
			return nil, wrong(word, "must be a path, or a method in capitals and a path with one space between; got %s", quote(text))
		}
	}
	if !strings.HasPrefix(p.path, "/") || strings.ContainsFunc(p.path, unicode.IsSpace) || strings.ContainsAny(p.path, "?#") {
		return nil, wrong(word, "must have a path that begins with / and has no spaces, ? or #; got %s", quote(text))
	}
	segments := strings.Split(p.path[1:], "/")
	if len(segments) > MaxSegments {
		return nil, wrong(word, "must have at most %d segments, got %d", MaxSegments, len(segments))
	}
	p.literals = len(segments)
	for i, segment := range segments {
		switch {
		case !strings.Contains(segment, "*"):
			continue
		case segment == oneSegment, segment == anySegments && i == len(segments)-1:
			p.literals = min(p.literals, i)
		case segment == anySegments:
			return nil, wrong(word, "may have ** only as the last segment; got %s", quote(text))
		default:
			return nil, wrong(word, "may have * only as a whole segment, as in /a/*/b; got %s", quote(text))
		}
	}
	if p.literals < len(segments) {
		p.segments = segments
	}
	return p, nil
}

// matchesPath says whether the path, which must not have a query, fits.
func (p *pattern) matchesPath(path []byte) bool {
	if p.exact() {
		return string(path) == p.path
	}
	for _, segment := range p.segments {
		if segment == anySegments {
			return len(path) == 0 || path[0] == '/'
		}
		if len(path) == 0 || path[0] != '/' {
			return false
		}
		end := len(path)
		if i := bytes.IndexByte(path[1:], '/'); i >= 0 {
			end = i + 1
		}
		if segment == oneSegment && end == 1 || segment != oneSegment && string(path[1:end]) != segment {
			return false
		}
		path = path[end:]
	}
	return len(path) == 0
}

// withoutQuery cuts off a request's query: whoever asks chooses it, so it must
// not decide which rule holds, nor whose bucket is charged.
func withoutQuery(endpoint []byte) []byte {
	if i := bytes.IndexByte(endpoint, '?'); i >= 0 {
		return endpoint[:i]
	}
	return endpoint
}

// splitEndpoint takes a request's endpoint apart, without its query.
func splitEndpoint(endpoint []byte) (method, path []byte) {
	path = withoutQuery(endpoint)
	if i := bytes.IndexByte(path, ' '); i >= 0 {
		return path[:i], path[i+1:]
	}
	return nil, path
}

// leading returns the first n segments of a path, each with the slash before
// it; false if there are fewer.
func leading(path []byte, n int) ([]byte, bool) {
	end := 0
	for range n {
		if end >= len(path) || path[end] != '/' {
			return nil, false
		}
		i := bytes.IndexByte(path[end+1:], '/')
		if i < 0 {
			end = len(path)
		} else {
			end += 1 + i
		}
	}
	return path[:end], true
}

// prefix is the part of the pattern's path that leading(path, p.literals) of a
// fitting request equals.
func (p *pattern) prefix() string {
	text, _ := leading([]byte(p.path), p.literals)
	return string(text)
}
