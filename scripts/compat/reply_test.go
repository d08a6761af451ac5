package compat

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// readReply reads one reply and returns it as text: a line for each value,
// with its type, elements indented.
func readReply(r *bufio.Reader) (string, error) {
	var b strings.Builder
	err := printReply(r, &b, "")
	return b.String(), err
}

func printReply(r *bufio.Reader, b *strings.Builder, indent string) error {
	line, err := r.ReadString('\n')
	if err != nil {
		return err
	}
	line, whole := strings.CutSuffix(line, "\r\n")
	if !whole || line == "" {
		return fmt.Errorf("bad line %q", line)
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+', '-', ':', ',', '#', '(':
		fmt.Fprintf(b, "%s%c %s\n", indent, kind, strconv.QuoteToASCII(rest))
	case '_':
		fmt.Fprintf(b, "%s_\n", indent)
	case '$', '=', '!':
		return printString(r, b, indent, kind, rest)
	case '*', '~', '>':
		return printElements(r, b, indent, kind, rest, 1)
	case '%':
		return printElements(r, b, indent, kind, rest, 2)
	default:
		return fmt.Errorf("bad type %q", line)
	}
	return nil
}

func printString(r *bufio.Reader, b *strings.Builder, indent string, kind byte, length string) error {
	n, err := strconv.Atoi(length)
	if err != nil {
		return err
	}
	if n < 0 {
		fmt.Fprintf(b, "%s%c nil\n", indent, kind)
		return nil
	}
	text := make([]byte, n+2)
	if _, err := io.ReadFull(r, text); err != nil {
		return err
	}
	if string(text[n:]) != "\r\n" {
		return errors.New("a string without its end")
	}
	if lines := strings.Split(string(text[:n]), "\n"); len(lines) > 2 { // a text, such as INFO
		fmt.Fprintf(b, "%s%c text\n", indent, kind)
		for _, line := range lines {
			fmt.Fprintf(b, "%s  %s\n", indent, strconv.QuoteToASCII(line))
		}
		return nil
	}
	fmt.Fprintf(b, "%s%c %s\n", indent, kind, strconv.QuoteToASCII(string(text[:n])))
	return nil
}

func printElements(r *bufio.Reader, b *strings.Builder, indent string, kind byte, count string, each int) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	if n < 0 {
		fmt.Fprintf(b, "%s%c nil\n", indent, kind)
		return nil
	}
	fmt.Fprintf(b, "%s%c %d\n", indent, kind, n)
	for range n * each {
		if err := printReply(r, b, indent+"  "); err != nil {
			return err
		}
	}
	return nil
}
