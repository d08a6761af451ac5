package raftfsm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

// pageHeader is the length of what bbolt's pages begin with, in bytes.
const pageHeader = 16

// checkLog looks for damage to the log's file before it is opened to be
// written: bbolt then reads its pages on a goroutine of its own, where what it
// does with a damaged one is the end of the process. The log of a node that
// belongs to a cluster must not be empty.
func checkLog(dir, cluster string) (err error) {
	path := logPath(dir)
	info, err := os.Stat(path)
	missing := errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
	switch {
	case missing && cluster != "":
		return damaged(path, fmt.Errorf("it is empty, and this node belongs to cluster %s", cluster))
	case missing:
		return nil
	case err != nil:
		return damaged(path, err)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // the file is mapped, and may be too short
	defer func() {
		if r := recover(); r != nil {
			err = damaged(path, fmt.Errorf("%v", r))
		}
	}()
	f, err := os.Open(path)
	if err != nil {
		return damaged(path, err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	for _, check := range []func() error{
		func() error { return checkMetas(f, info.Size()) },
		func() error { return checkBranches(f, info.Size()) },
		func() error { return readPages(path) },
	} {
		if err := check(); err != nil {
			return damaged(path, err)
		}
	}
	return nil
}

// checkMetas checks both of the pages of which bbolt needs one, since without
// the other the last write may be missing, and whether all pages are there.
func checkMetas(f io.ReaderAt, size int64) error {
	const magic = 0xED0CDAED
	const pageSizeAt, pagesAt, sumAt = 8, 40, 56 // in the page behind its header
	for i := range 2 {
		meta := make([]byte, sumAt+8)
		if _, err := f.ReadAt(meta, int64(i*os.Getpagesize()+pageHeader)); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		sum := fnv.New64a()
		_, _ = sum.Write(meta[:sumAt]) // it never fails
		number := binary.NativeEndian
		if number.Uint32(meta) != magic || number.Uint64(meta[sumAt:]) != sum.Sum64() {
			return fmt.Errorf("page %d is damaged", i)
		}
		if pages := number.Uint64(meta[pagesAt:]); uint64(size)/uint64(number.Uint32(meta[pageSizeAt:])) < pages {
			return fmt.Errorf("it has %d bytes, and should have %d pages", size, pages)
		}
	}
	return nil
}

// checkBranches checks the pages that lead to others, whose keys no reading of
// what they lead to looks at in full. Only the entries have such.
func checkBranches(f io.ReaderAt, size int64) error {
	const flagsAt, countAt, branch = 8, 10, 1
	const element, keyAt, keySizeAt, keySize = 16, 0, 4, 8
	number, page := binary.NativeEndian, make([]byte, os.Getpagesize())
	for i := range size / int64(len(page)) {
		if _, err := f.ReadAt(page, i*int64(len(page))); err != nil {
			return err
		}
		if number.Uint64(page) != uint64(i) || number.Uint16(page[flagsAt:]) != branch {
			continue
		}
		rest := page[pageHeader:]
		for range number.Uint16(page[countAt:]) {
			if len(rest) < element || number.Uint32(rest[keySizeAt:]) != keySize || int64(number.Uint32(rest[keyAt:]))+keySize > int64(len(rest)) {
				return fmt.Errorf("page %d is damaged", i)
			}
			rest = rest[element:]
		}
	}
	return nil
}

// readPages reads every page that is in use, and checks what is known of their
// keys: the log's are numbers, and none holds a further bucket. Numbers may lack
// where a snapshot came instead; where none did Raft misses them.
func readPages(path string) (err error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.View(func(tx *bbolt.Tx) error {
		var names []string
		err := tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			names = append(names, string(name))
			var last []byte
			return b.ForEach(func(key, value []byte) error {
				crc32.ChecksumIEEE(value) // it is read, to its end
				if value == nil || string(name) == "logs" && len(key) != 8 || last != nil && bytes.Compare(last, key) >= 0 {
					return fmt.Errorf("keys of its %.40q are damaged", name)
				}
				last = key
				return nil
			})
		})
		if err == nil && !slices.Equal(names, []string{"conf", "logs"}) {
			err = fmt.Errorf("it holds %.100q", names)
		}
		return err
	})
}
