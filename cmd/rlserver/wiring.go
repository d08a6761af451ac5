package main

import (
	"github.com/rlserver/rlserver/commands"
	"github.com/rlserver/rlserver/state"
)

// buckets shows the store to the commands in their words.
type buckets struct{ *state.Store }

func (b buckets) Inspect(key []byte, now int64) (commands.BucketInfo, bool) {
	return bucketInfo(b.Store.Inspect(key, now))
}

func (b buckets) Hold(slots []uint16) commands.Held { return held{b.Store.Hold(slots)} }

// held shows held slots to the commands in their words.
type held struct{ *state.Held }

func (h held) Inspect(key []byte, now int64) (commands.BucketInfo, bool) {
	return bucketInfo(h.Held.Inspect(key, now))
}

func bucketInfo(info state.Info, found bool) (commands.BucketInfo, bool) {
	return commands.BucketInfo{
		Spec:      info.Spec,
		Remaining: info.Remaining,
		ResetMS:   info.ResetMS,
		IdleMS:    info.IdleMS,
		Bytes:     info.Bytes,
	}, found
}

func (b buckets) TopAsked(n int, now int64) []commands.TopKey {
	return topKeys(b.Top(state.TopAsked, n, now))
}

func (b buckets) TopDenied(n int, now int64) []commands.TopKey {
	return topKeys(b.Top(state.TopDenied, n, now))
}

func topKeys(top []state.TopKey) []commands.TopKey {
	keys := make([]commands.TopKey, len(top))
	for i, k := range top {
		keys[i] = commands.TopKey{Key: k.Key, Count: k.Count}
	}
	return keys
}

// soleOwner owns every slot: the node is alone, so ownership never changes.
type soleOwner struct{ node string }

// soleVersion is the version of every slot of a node that is alone.
const soleVersion = 1

func (soleOwner) Slot(key []byte) uint16              { return state.Slot(key) }
func (soleOwner) Serve(uint16) (uint64, bool)         { return soleVersion, true }
func (soleOwner) MayAnswer() bool                     { return true }
func (soleOwner) Holds(_ uint16, version uint64) bool { return version == soleVersion }
func (o soleOwner) Owner(uint16) string               { return o.node }
