// Package snapshot is the one binary form of buckets: of the file they are
// saved in, of the journal of what changed since, of the stream to a replica
// and of a slot's hand-over. DESIGN.md describes the bytes.
//
// What is written are durations before and after the writer's now, never an
// instant of its clock, so that clocks that differ neither mint nor burn units.
package snapshot

import (
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/rlserver/rlserver/state"
)

// Version is the version of the format. A reader knows all up to its own.
const Version = 1

const magic = "RLSNAP"

// The kinds of sections. An unknown one from skippable on may be skipped; any
// other is an error.
const (
	kindHeader = 1
	kindSlot   = 2
	kindClean  = 3
	kindEnd    = 4
	skippable  = 128
)

// Bounds of what is read and written, in bytes.
const (
	maxSection  = 1 << 20   // a section's payload
	fullSection = 64 << 10  // from here on a slot goes on in another section: one that rots takes little with it
	maxKey      = 768 << 10 // a key
	maxNode     = 256       // the name of a node
	// All up to and including the header.
	maxBeginning = 300
)

// maxLog is the most entries of one sliding-log, the largest that a server can
// be told to allow.
const maxLog = 100_000_000

// maxSpecs is the most different specs in one section.
const maxSpecs = fullSection / 4

var (
	// ErrNotSnapshot is returned for what does not begin as this format does.
	ErrNotSnapshot = errors.New("snapshot: not a file of buckets")
	// ErrVersion is returned for a format that is newer than this program.
	ErrVersion = errors.New("snapshot: written by a newer version")
	// ErrCorrupt is within the errors about a section whose bytes changed since
	// they were written. After it the Reader goes on behind that section.
	ErrCorrupt = errors.New("corrupt section")
	// ErrUnknownKind is within the error about a section that this program does
	// not know and must not skip.
	ErrUnknownKind = errors.New("unknown kind of section")
)

// SectionError says where something is wrong. Within it is ErrCorrupt,
// ErrUnknownKind, io.ErrUnexpectedEOF for an end that is torn off, or what
// reading failed with. Only after ErrCorrupt may one go on.
type SectionError struct {
	Kind   byte  // of the section; 0: not known
	Offset int64 // where it begins, which is where the good section before it ends
	Err    error
}

func (e *SectionError) Error() string {
	if e.Kind == 0 {
		return fmt.Sprintf("snapshot: at byte %d: %v", e.Offset, e.Err)
	}
	return fmt.Sprintf("snapshot: section of kind %d at byte %d: %v", e.Kind, e.Offset, e.Err)
}

func (e *SectionError) Unwrap() error { return e.Err }

// Header is the first section.
type Header struct {
	Written int64  // the writer's wall clock, Unix nanoseconds
	Node    string // who wrote it, at most 256 bytes
	Number  uint64 // which file of several it is
}

// Slot is buckets of one hash slot. A slot may come in several.
type Slot struct {
	Slot     uint16
	Version  uint64 // of the slot's ownership
	Sequence uint64 // in the stream of the slot's changes
	Written  int64  // when, by the writer's clock, Unix nanoseconds
	// LossAt is when counts may last have been lost; 0: never. Unix nanoseconds.
	// Read from a stream it wavers with the time on the way, and a store that is
	// told of a later loss spends again: take it once a stream and Version.
	LossAt  int64
	Records []state.Record
}

// Counts is what has been written or read.
type Counts struct {
	Sections int64 // all sections, the header included
	Records  int64 // records; a log in several parts is several
	Skipped  int64 // sections of unknown kinds that may be skipped; read only
	Corrupt  int64 // sections that were corrupt; read only
	Lost     int64 // parts of logs whose other parts are missing; read only
}

// castagnoli is the table of CRC-32C.
var castagnoli = makeCastagnoli()

func makeCastagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }
