package compat

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// section is what is asked on one connection, a new one for each section.
type section struct {
	title string
	resp2 bool // not with RESP3
	steps []step
}

// step is one thing that is sent, and how many replies it gets.
type step struct {
	line    int
	text    string // as it stands in the script
	send    []byte
	replies int
	closed  bool     // the server closes the connection behind them
	masks   []string // rules for what may differ in the replies
	differs string   // why the replies must not be the same
}

// readScript reads a file of these lines:
//
//	== TITLE [resp2]      a section begins
//	WORD ...              a command; a word may be quoted, as in Go
//	raw WORD ...          bytes as they are, the words one behind the other
//	xN LINE               the line gets N replies, not one
//	closes LINE           the server closes the connection behind its replies
//	~ MASK ...            masks for the replies of the next line
//	differs REASON        the replies of the next line are not the same, and why
//	# ...                 a comment
func readScript(name string) ([]section, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var sections []section
	var next step
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		first, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case first == "==":
			title, resp2 := strings.CutSuffix(rest, " [resp2]")
			sections = append(sections, section{title: title, resp2: resp2})
			continue
		case first == "~":
			next.masks = strings.Fields(rest)
			continue
		case first == "differs":
			next.differs = rest
			continue
		}
		next.line, next.text = n, line
		if err := next.parse(line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		last := &sections[len(sections)-1]
		last.steps = append(last.steps, next)
		next = step{}
	}
	return sections, lines.Err()
}

func (s *step) parse(line string) error {
	s.replies = 1
	words, err := split(line)
	if err != nil {
		return err
	}
	for {
		switch n, isCount := strings.CutPrefix(words[0], "x"); {
		case words[0] == "closes":
			s.closed = true
		case isCount && n != "" && strings.Trim(n, "0123456789") == "":
			if s.replies, err = strconv.Atoi(n); err != nil {
				return err
			}
		case words[0] == "raw":
			s.send = []byte(strings.Join(words[1:], ""))
			return nil
		default:
			s.send = fmt.Appendf(nil, "*%d\r\n", len(words))
			for _, word := range words {
				s.send = fmt.Appendf(s.send, "$%d\r\n%s\r\n", len(word), word)
			}
			return nil
		}
		words = words[1:]
	}
}

// split takes a line apart into words, quoted ones without their quotes.
// "..."*N is the quoted text N times.
func split(line string) ([]string, error) {
	var words []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if line[0] != '"' {
			word, rest, _ := strings.Cut(line, " ")
			words, line = append(words, word), rest
			continue
		}
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, err
		}
		line = line[len(quoted):]
		if times, found := strings.CutPrefix(line, "*"); found {
			times, line, _ = strings.Cut(times, " ")
			n, err := strconv.Atoi(times)
			if err != nil {
				return nil, err
			}
			word = strings.Repeat(word, n)
		}
		words = append(words, word)
	}
	return words, nil
}
