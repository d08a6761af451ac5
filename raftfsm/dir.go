package raftfsm

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// lockDir makes the directory, if need be, and locks it for this process: two
// nodes with one identity would vote twice.
func lockDir(dir string) (io.Closer, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("the directory %s cannot be made: %w", dir, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the directory %s cannot be used: %w", dir, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		err = fmt.Errorf("the directory %s is in use by another process: each node needs a --dir of its own (%w)", dir, err)
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// readID returns the node's id, which it makes if there is none yet.
func nodeIDOf(dir string, rand io.Reader) (string, error) {
	path := filepath.Join(dir, "node-id")
	text, err := os.ReadFile(path)
	if err == nil {
		id := strings.TrimSpace(string(text))
		if !isID(id) {
			return "", fmt.Errorf("%s must hold 40 hex digits, and holds %q: restore it, or start with an empty directory", path, id)
		}
		return id, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	id, err := newID(rand)
	if err != nil {
		return "", err
	}
	return id, writeFile(path, []byte(id+"\n"))
}

// newID returns 40 hex digits.
func newID(rand io.Reader) (string, error) {
	b := make([]byte, 20)
	if _, err := io.ReadFull(rand, b); err != nil {
		return "", err
	}
	return hex.EncodeToString(b), nil
}

// writeFile replaces a file as a whole, and is done when it is on the disk.
func writeFile(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
