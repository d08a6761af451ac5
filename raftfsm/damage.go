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
	root, pages, err := checkMetas(f, info.Size())
	if err == nil {
		err = checkHeads(f, root, pages)
	}
	if err == nil {
		err = readPages(path, func(root uint64) error { return checkHeads(f, root, pages) })
	}
	if err != nil {
		return damaged(path, err)
	}
	return nil
}

// checkMetas checks both of the pages of which bbolt needs one, since without
// the other the last write may be missing, and whether all pages are there. It
// returns the first of the newest, and how many there are.
func checkMetas(f io.ReaderAt, size int64) (root, pages uint64, err error) {
	const magic = 0xED0CDAED
	const pageSizeAt, rootAt, pagesAt, writeAt, sumAt = 8, 16, 40, 48, 56 // behind the page's header
	var newest uint64
	for i := range 2 {
		meta := make([]byte, sumAt+8)
		if _, err := f.ReadAt(meta, int64(i*os.Getpagesize()+pageHeader)); err != nil && !errors.Is(err, io.EOF) {
			return 0, 0, err
		}
		sum := fnv.New64a()
		_, _ = sum.Write(meta[:sumAt]) // it never fails
		number := binary.NativeEndian
		if number.Uint32(meta) != magic || number.Uint64(meta[sumAt:]) != sum.Sum64() {
			return 0, 0, fmt.Errorf("page %d is damaged", i)
		}
		if write := number.Uint64(meta[writeAt:]); write >= newest {
			newest, root = write, number.Uint64(meta[rootAt:])
		}
		pages = max(pages, number.Uint64(meta[pagesAt:]))
		if uint64(size)/uint64(number.Uint32(meta[pageSizeAt:])) < pages {
			return 0, 0, fmt.Errorf("it has %d bytes, and should have %d pages", size, pages)
		}
	}
	return root, pages, nil
}

// checkHeads checks what reading all keys and values does not look at, from one
// page on: how many pages each continues on, and the keys of those that lead to
// others. Only pages of entries are so many that there are such.
func checkHeads(f io.ReaderAt, root, pages uint64) error {
	const flagsAt, countAt, moreAt = 8, 10, 12
	const branch, leaf = 1, 2
	const element, keyAt, keySizeAt, toAt, keySize = 16, 0, 4, 8, 8
	number, page := binary.NativeEndian, make([]byte, os.Getpagesize())
	todo := []uint64{root}
	for seen := uint64(0); len(todo) > 0; seen++ {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if i >= pages || seen == pages { // there are not as many
			return fmt.Errorf("page %d is damaged, or one that leads there", i)
		}
		if _, err := f.ReadAt(page, int64(i)*int64(len(page))); err != nil {
			return err
		}
		flags, rest, count := number.Uint16(page[flagsAt:]), page[pageHeader:], number.Uint16(page[countAt:])
		fits := number.Uint64(page) == i && i+uint64(number.Uint32(page[moreAt:])) < pages &&
			(flags == leaf || flags == branch && count > 0) // bbolt would look for ever for what follows an empty branch
		for ; flags == branch && fits && count > 0; count-- {
			fits = len(rest) >= element && number.Uint32(rest[keySizeAt:]) == keySize && int64(number.Uint32(rest[keyAt:]))+keySize <= int64(len(rest))
			if fits {
				todo = append(todo, number.Uint64(rest[toAt:]))
				rest = rest[element:]
			}
		}
		if !fits {
			return fmt.Errorf("page %d is damaged", i)
		}
	}
	return nil
}

// readPages reads every page that is in use, and checks what is known of their
// keys: the log's are numbers, and none holds a further bucket. Numbers may lack
// where a snapshot came instead; where none did Raft misses them.
func readPages(path string, checkFrom func(root uint64) error) (err error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.View(func(tx *bbolt.Tx) error {
		var names []string
		err := tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			names = append(names, string(name))
			if root := uint64(b.Root()); root != 0 { // else it is part of the page before
				if err := checkFrom(root); err != nil {
					return err
				}
			}
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
