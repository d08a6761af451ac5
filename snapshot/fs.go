package snapshot

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// FS is the one directory that Disk writes to. Its methods are called by one
// goroutine at a time. A missing file is fs.ErrNotExist.
type FS interface {
	// List returns the names of all files, in any order.
	List() ([]string, error)
	// Size is the length of a file in bytes.
	Size(name string) (int64, error)
	Open(name string) (io.ReadCloser, error)
	// Create makes a file, or empties it. Its name is durable after Sync.
	Create(name string) (File, error)
	// Truncate cuts a file off at size bytes, durably.
	Truncate(name string, size int64) error
	// Rename replaces what has the new name. It is durable after Sync.
	Rename(from, to string) error
	Remove(name string) error
	// Sync makes all names durable.
	Sync() error
	// Free is how many bytes may still be written.
	Free() (int64, error)
}

// File is a file that is being written.
type File interface {
	io.WriteCloser
	// Sync returns when all that was written is durable. It is never called
	// again after it failed: what was not written then is lost.
	Sync() error
}

// Dir is the FS of the operating system: the path of a directory.
type Dir string

func (d Dir) path(name string) string { return filepath.Join(string(d), name) }

// List implements FS.
func (d Dir) List() (names []string, err error) {
	entries, err := os.ReadDir(string(d))
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Size implements FS.
func (d Dir) Size(name string) (int64, error) {
	info, err := os.Stat(d.path(name))
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Open implements FS.
func (d Dir) Open(name string) (io.ReadCloser, error) { return os.Open(d.path(name)) }

// Create implements FS. Only the server's user may read the file: keys may be
// people's names.
func (d Dir) Create(name string) (File, error) {
	return os.OpenFile(d.path(name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
}

// Truncate implements FS.
func (d Dir) Truncate(name string, size int64) error {
	f, err := os.OpenFile(d.path(name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Sync(), f.Close())
}

// Rename implements FS.
func (d Dir) Rename(from, to string) error { return os.Rename(d.path(from), d.path(to)) }

// Remove implements FS.
func (d Dir) Remove(name string) error { return os.Remove(d.path(name)) }

// Sync implements FS.
func (d Dir) Sync() error {
	f, err := os.Open(string(d))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
