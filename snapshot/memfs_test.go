package snapshot

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

var errCrashed = errors.New("the machine is off")

// memFS is an FS that can fail and lose what is not durable, as a machine that
// loses its power does.
type memFS struct {
	names   map[string]*memFile
	durable map[string]*memFile         // names as of the last Sync
	changes []func(map[string]*memFile) // of names since

	ops     int   // calls that change something, so far
	crashAt int   // at which of them the power goes; 0: never
	space   int64 // bytes that may still be written
	fail    error // what every write and sync fails with
}

type memFile struct {
	data   []byte
	synced int
}

func newMemFS() *memFS {
	return &memFS{names: map[string]*memFile{}, durable: map[string]*memFile{}, space: math.MaxInt64}
}

// op counts a call that changes something.
func (m *memFS) op() error {
	m.ops++
	if m.crashAt > 0 && m.ops >= m.crashAt {
		return errCrashed
	}
	return m.fail
}

// crash is the directory as it is found after the power went: what was synced
// is there, of the rest any beginning, and sometimes zeros behind it.
func (m *memFS) crash(r *rand.Rand) *memFS {
	after := newMemFS()
	names := maps.Clone(m.durable)
	for _, change := range m.changes[:r.IntN(len(m.changes)+1)] {
		change(names)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		f := names[name]
		n := f.synced + r.IntN(len(f.data)-f.synced+1)
		data := bytes.Clone(f.data[:n])
		if lost := len(f.data) - n; lost > 0 && r.IntN(3) == 0 {
			data = append(data, make([]byte, lost)...)
		}
		after.put(name, data)
	}
	return after
}

// put makes a durable file.
func (m *memFS) put(name string, data []byte) {
	f := &memFile{data: data, synced: len(data)}
	m.names[name], m.durable[name] = f, f
}

func (m *memFS) change(f func(map[string]*memFile)) {
	f(m.names)
	m.changes = append(m.changes, f)
}

func (m *memFS) List() ([]string, error) { return slices.Sorted(maps.Keys(m.names)), nil }

func (m *memFS) Size(name string) (int64, error) {
	if f := m.names[name]; f != nil {
		return int64(len(f.data)), nil
	}
	return 0, fs.ErrNotExist
}

func (m *memFS) Open(name string) (io.ReadCloser, error) {
	if f := m.names[name]; f != nil {
		return io.NopCloser(bytes.NewReader(f.data)), nil
	}
	return nil, fs.ErrNotExist
}

func (m *memFS) Create(name string) (File, error) {
	if err := m.op(); err != nil {
		return nil, err
	}
	f := new(memFile)
	m.change(func(names map[string]*memFile) { names[name] = f })
	return &memWriter{m, f}, nil
}

func (m *memFS) Truncate(name string, size int64) error {
	if err := m.op(); err != nil {
		return err
	}
	f := m.names[name]
	f.data = f.data[:size]
	f.synced = len(f.data)
	return nil
}

func (m *memFS) Rename(from, to string) error {
	if err := m.op(); err != nil {
		return err
	}
	m.change(func(names map[string]*memFile) {
		names[to] = names[from]
		delete(names, from)
	})
	return nil
}

func (m *memFS) Remove(name string) error {
	if err := m.op(); err != nil {
		return err
	}
	m.change(func(names map[string]*memFile) { delete(names, name) })
	return nil
}

func (m *memFS) Sync() error {
	if err := m.op(); err != nil {
		return err
	}
	m.durable, m.changes = maps.Clone(m.names), nil
	return nil
}

func (m *memFS) Free() (int64, error) { return m.space, nil }

type memWriter struct {
	m *memFS
	f *memFile
}

func (w *memWriter) Write(b []byte) (int, error) {
	err := w.m.op()
	n := len(b)
	if err != nil {
		n /= 2
	}
	if int64(n) > w.m.space {
		n, err = int(w.m.space), errDisk
	}
	w.m.space -= int64(n)
	w.f.data = append(w.f.data, b[:n]...)
	return n, err
}

func (w *memWriter) Sync() error {
	if err := w.m.op(); err != nil {
		return err
	}
	w.f.synced = len(w.f.data)
	return nil
}

func (w *memWriter) Close() error { return nil }
