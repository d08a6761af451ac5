package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// hidden is shown instead of a secret that is set.
const hidden = "(hidden)"

// maxSecret is the longest secret in bytes.
const maxSecret = 4096

// secretValue is a flag that nothing shows. Set takes everything: the flag
// package's error would repeat the value.
type secretValue string

func (s *secretValue) String() string {
	if s == nil || *s == "" {
		return ""
	}
	return hidden
}

func (s *secretValue) Set(text string) error {
	*s = secretValue(text)
	return nil
}

// readSecret returns the first line of a file, without what ends the line.
func readSecret(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it was only read
	const lineEnd = 2
	line, err := bufio.NewReader(io.LimitReader(f, maxSecret+lineEnd+1)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	return line, checkSecret(line, file)
}

func checkSecret(secret, where string) error {
	switch {
	case secret == "":
		return fmt.Errorf("%s: the password is empty", where)
	case len(secret) > maxSecret:
		return fmt.Errorf("%s: the password has more than %d bytes", where, maxSecret)
	}
	return nil
}
