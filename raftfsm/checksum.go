package raftfsm

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/hashicorp/raft"
)

// Entries on the disk end with a checksum, in the field that Raft leaves to
// those below it: bbolt has none of what it stores, and one flipped bit can
// make another limit of a limit. What Raft sends to other nodes has none.

const sumSize = 4

// sumOf is the CRC-32C of what Raft and the FSM look at.
func sumOf(log *raft.Log) uint32 {
	var head [17]byte
	binary.BigEndian.PutUint64(head[:], log.Index)
	binary.BigEndian.PutUint64(head[8:], log.Term)
	head[16] = byte(log.Type)
	return crc32.Update(crc32.Checksum(head[:], castagnoli()), castagnoli(), log.Data)
}

// withSum returns the entry as it goes to the disk. Raft has the other still.
func withSum(log *raft.Log) *raft.Log {
	summed := *log
	summed.Extensions = binary.BigEndian.AppendUint32(nil, sumOf(log))
	return &summed
}

// checkSum checks the entry that is stored at an index, and takes its checksum
// away.
func checkSum(index uint64, log *raft.Log) error {
	if log.Index != index || len(log.Extensions) != sumSize || binary.BigEndian.Uint32(log.Extensions) != sumOf(log) {
		return fmt.Errorf("entry %d is damaged: its checksum does not match", index)
	}
	log.Extensions = nil
	return nil
}
