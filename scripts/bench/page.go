package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// The program owns what is between these lines of the page, and nothing else.
const (
	regionBegin = "<!-- bench:begin -->"
	regionEnd   = "<!-- bench:end -->"
)

// newPage is the page where none is.
const newPage = "# Benchmarks\n\n" + regionBegin + "\n" + regionEnd + "\n"

// page is the name of a file with a region that a run replaces; - is standard
// output, which gets the region alone.
type page string

// read is the text of the page, with its region found, or that of a new one.
func (p page) read() (string, error) {
	if p == "-" {
		return newPage, nil
	}
	text, err := os.ReadFile(string(p))
	if errors.Is(err, fs.ErrNotExist) {
		return newPage, nil
	}
	if err != nil {
		return "", err
	}
	if _, err := replaceRegion(string(text), ""); err != nil {
		return "", fmt.Errorf("%s: %w", p, err)
	}
	return string(text), nil
}

// write reads the page again: it may have been edited meanwhile.
func (p page) write(region string, stdout io.Writer) error {
	if p == "-" {
		_, err := io.WriteString(stdout, region)
		return err
	}
	text, err := p.read()
	if err != nil {
		return err
	}
	if text, err = replaceRegion(text, region); err != nil {
		return err
	}
	return os.WriteFile(string(p), []byte(text), 0o644)
}

// replaceRegion puts region between the two marks of text.
func replaceRegion(text, region string) (string, error) {
	if strings.Count(text, regionBegin) != 1 || strings.Count(text, regionEnd) != 1 {
		return "", fmt.Errorf("want the lines %q and %q once each", regionBegin, regionEnd)
	}
	before, rest, _ := strings.Cut(text, regionBegin)
	_, after, found := strings.Cut(rest, regionEnd)
	if !found {
		return "", fmt.Errorf("want %q before %q", regionBegin, regionEnd)
	}
	return before + regionBegin + "\n\n" + strings.TrimSpace(region) + "\n\n" + regionEnd + after, nil
}
