package commands

import (
	"bytes"
	"testing"

	"github.com/rlserver/rlserver/limit"
)

// FuzzQuestion: what can be read is what would be written, and nothing else is
// read.
func FuzzQuestion(f *testing.F) {
	q := question{
		policies: true, req: limit.Request{Cost: 7, Peek: true},
		asks: []PolicyAsk{
			{Slot: 16383, Key: []byte("k"), Spec: limit.Spec{Limit: 5, Window: 1e9, Burst: 9, Algorithm: limit.LeakyBucket}, Strict: true},
			{Slot: 1, Key: []byte("another"), Spec: limit.Spec{Limit: 1, Window: 1e9, Burst: 1}},
		},
	}
	f.Add(q.encode(questionAsk)[1:])
	one := question{req: limit.Request{Cost: 1, AtMost: true}, asks: q.asks[1:]}
	f.Add(one.encode(questionAsk)[1:])
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := asked(b)
		if err != nil {
			return
		}
		again, err := asked(q.encode(questionAsk)[1:])
		if err != nil {
			t.Fatalf("%x is read, and what is written of it is not: %v", b, err)
		}
		if !bytes.Equal(again.encode(questionAsk), q.encode(questionAsk)) {
			t.Errorf("%x changes", b)
		}
	})
}

// TestShareOf: all shares together are the limit, and none is nothing.
func TestShareOf(t *testing.T) {
	spec := limit.Spec{Limit: 100, Window: 1e9, Burst: 50}
	if got := shareOf(spec, 3); got != (limit.Spec{Limit: 100, Window: 3e9, Burst: 16}) {
		t.Errorf("%+v", got)
	}
	if got := shareOf(limit.Spec{Limit: 1, Window: 1e9, Burst: 1, Algorithm: limit.LeakyBucket}, 5); got.Burst != 1 || got.Algorithm != limit.LeakyBucket {
		t.Errorf("%+v", got)
	}
	if got := shareOf(limit.Spec{Limit: 10, Window: limit.MaxWindow, Burst: 10, Algorithm: limit.SlidingLog}, 3); got.Window != limit.MaxWindow || got.Algorithm != limit.TokenBucket {
		t.Errorf("%+v", got)
	}
}
