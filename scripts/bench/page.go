package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// page is a file with a region that a run replaces; the file - is standard
// output, which gets the region alone.
type page struct {
	file string
	name string // of the region
}

// The program owns what is between these lines of the page, and nothing else.
func (p page) begin() string { return "<!-- " + p.name + ":begin -->" }
func (p page) end() string   { return "<!-- " + p.name + ":end -->" }

// empty is the page where none is.
func (p page) empty() string { return "# Benchmarks\n\n" + p.begin() + "\n" + p.end() + "\n" }

// read is the text of the page, with its region found, or that of a new one.
func (p page) read() (string, error) {
	if p.file == "-" {
		return p.empty(), nil
	}
	text, err := os.ReadFile(p.file)
	if errors.Is(err, fs.ErrNotExist) {
		return p.empty(), nil
	}
	if err != nil {
		return "", err
	}
	if _, err := p.replace(string(text), ""); err != nil {
		return "", fmt.Errorf("%s: %w", p.file, err)
	}
	return string(text), nil
}

// write reads the page again: it may have been edited meanwhile.
func (p page) write(region string, stdout io.Writer) error {
	if p.file == "-" {
		_, err := io.WriteString(stdout, region)
		return err
	}
	text, err := p.read()
	if err != nil {
		return err
	}
	if text, err = p.replace(text, region); err != nil {
		return err
	}
	return os.WriteFile(p.file, []byte(text), 0o644)
}

// replace puts region between the two marks of text.
func (p page) replace(text, region string) (string, error) {
	if strings.Count(text, p.begin()) != 1 || strings.Count(text, p.end()) != 1 {
		return "", fmt.Errorf("want the lines %q and %q once each", p.begin(), p.end())
	}
	before, rest, _ := strings.Cut(text, p.begin())
	_, after, found := strings.Cut(rest, p.end())
	if !found {
		return "", fmt.Errorf("want %q before %q", p.begin(), p.end())
	}
	return before + p.begin() + "\n\n" + strings.TrimSpace(region) + "\n\n" + p.end() + after, nil
}
